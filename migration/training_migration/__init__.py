"""From v1's jobs to Trainer v2: survey, convert, lint, render, verify, run both, compare."""
