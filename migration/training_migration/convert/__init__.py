"""From a v1 job to a runtime and a TrainJob."""
