"""A program in a running container, connected with the standard streams of this process."""
