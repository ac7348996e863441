"""Findings as texts: for people, for programs, for code review, for CI."""
