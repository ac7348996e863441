"""A whole Kubernetes of one node on this machine: containerd, kubelet, kube-proxy and cluster DNS, as root."""
