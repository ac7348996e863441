"""Custom resources: CRDs turned into types, structural schemas, CEL rules."""
