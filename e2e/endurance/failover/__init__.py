"""How long a change of leaders takes, and that no old one writes: `python -m e2e.endurance.failover`."""
