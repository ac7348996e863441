"""Generators, the image, the package, and programs of the Makefile."""
