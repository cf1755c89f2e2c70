"""gyre.ray: ranks and workers that Ray runs."""
