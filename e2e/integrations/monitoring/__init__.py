"""Dashboard and alerts of deploy/monitoring: written from here, and tried on a real Prometheus."""
