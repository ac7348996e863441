"""Asking an API server with the permissions of whoever looks; nothing but GET leaves here."""
