"""Custom resources: definitions turned into types, structural schemas, CEL rules."""
