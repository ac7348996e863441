"""The verbs of `training-operator migrate`, one module each, and the options that they share."""
