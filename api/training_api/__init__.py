"""The data of the six `kubeflow.org/v1` training jobs: models, defaults, validation, conditions, CRDs."""
