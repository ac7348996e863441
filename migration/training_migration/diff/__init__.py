"""Two renderings of one job compared by meaning, pod by pod."""
