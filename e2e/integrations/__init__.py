"""Jobs together with the software of others."""
