"""The console: every job, replica, log and reason in a browser; reads only."""
