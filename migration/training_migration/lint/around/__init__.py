"""Rules on what lies around jobs: dashboards, CI files, pipelines, network policies, and objects next to each other."""
