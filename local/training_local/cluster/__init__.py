"""A cluster as a whole: started, registered, found by other commands, cleaned up after."""
