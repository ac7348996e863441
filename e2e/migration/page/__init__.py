"""The page of a survey in a real browser."""
