"""The embedded API server answers as the real one does: each case is played to both, with equal transcripts.

`cases/` holds the cases, `recorded/` what the real server answered. The local half runs with the unit tests; the real
half proves that the recordings are current; `python -m e2e.fidelity` records anew.
"""
