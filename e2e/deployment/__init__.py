"""The manifests of `deploy/`: what they render to, whether a real API server takes them, and what they allow."""
