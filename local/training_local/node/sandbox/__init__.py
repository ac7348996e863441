"""Namespaces in which pods run; everything the supervisor program imports uses the standard library only."""
