"""`python -m training_console`: what `training-operator console` is."""

from training_console.cli import console

console()
