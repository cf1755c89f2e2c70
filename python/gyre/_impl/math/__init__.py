"""gyre.math: by kinds, elementwise, reductions, segments."""
