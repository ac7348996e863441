"""Rules on training scripts: Python, shell, notebooks, Dockerfiles, and command lines of containers."""
