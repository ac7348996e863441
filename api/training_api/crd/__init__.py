"""Generator of the CustomResourceDefinitions in `crds/`: schemas from models, rules in CEL, columns, subresources."""
