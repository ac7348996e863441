"""The caches (informers) of the process: records of objects, kept up to date by list and watch."""
