"""Jobs and pods through the API: created, followed, their logs read, programs executed in them."""
