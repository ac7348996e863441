"""The end-to-end tests of the Training Operator 1.9 themselves, unmodified, against this operator on a real node."""
