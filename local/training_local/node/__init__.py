"""A kubelet for one machine: turns pods into sandboxed processes and reports what became of them."""
