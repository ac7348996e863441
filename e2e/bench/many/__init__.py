"""Many jobs, jobs beside a big one, many finished jobs: `python -m e2e.bench.many`."""
