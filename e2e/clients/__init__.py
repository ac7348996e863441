"""Clients from elsewhere that must work unmodified, in a virtual environment of their own."""
