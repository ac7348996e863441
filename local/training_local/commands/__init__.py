"""The commands of `training-operator local`, one module each."""
