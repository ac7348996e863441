"""Trainer v2 without a cluster: what its controllers make of a TrainJob, predicted."""
