"""The process: start, stop, hand-over, bad input."""
