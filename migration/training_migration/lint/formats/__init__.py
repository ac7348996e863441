"""Findings as texts: for users, for programs, for code review, for CI."""
