"""Arbitrary requests to the embedded API server: `python -m e2e.endurance.fuzz --requests 10000 --seed 1`."""
