"""The operator as users have it: an image on a cluster of kind, the upgrade from the Go operator, all examples."""
