"""The operator under faults of everything around it, on a real control plane: `python -m e2e.endurance.faults`."""
