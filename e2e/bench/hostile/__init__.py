"""Jobs that are made to end the operator, or to hold up others: `python -m e2e.bench.hostile`."""
