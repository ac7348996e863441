"""The effects: loads a job, asks for a decision, writes the status, creates and deletes objects through ports."""
