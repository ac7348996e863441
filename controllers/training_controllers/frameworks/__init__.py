"""What differs between the job kinds, one module per framework."""
