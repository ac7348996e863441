"""Namespaces in which pods run; what the supervisor program imports is in the standard library, and not pathlib."""
