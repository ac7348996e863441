"""What the documentation needs to become a site, see `make docs`."""
