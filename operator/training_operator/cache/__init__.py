"""What the process knows of the cluster: records, and how they are kept up to date."""
