"""Whether a cluster's own controllers make of a TrainJob what is predicted."""
