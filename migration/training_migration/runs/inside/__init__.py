"""Programs that run inside of pods: standard library only, Python 3.7 and newer."""
