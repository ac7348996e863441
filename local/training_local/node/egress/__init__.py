"""How pods reach what is outside of the cluster: by connections that this process makes for them."""
