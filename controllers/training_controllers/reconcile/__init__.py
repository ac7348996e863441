"""The effects: loads a job, decides, writes the status, creates and deletes objects through ports."""
