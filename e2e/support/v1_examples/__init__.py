"""The example jobs of Training Operator 1.9 as data, and what becomes of them."""
