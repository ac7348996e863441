"""Rules on runtimes and TrainJobs of v2."""
