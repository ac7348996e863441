"""What tenants may do, done to stop the operator, to widen rights, or to touch what belongs to others."""
