"""How fast the local cluster is, against floors taken in the same run: `python -m e2e.bench.local`."""
