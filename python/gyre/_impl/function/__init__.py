"""`gyre.function`: traces of Python functions, kept by signature."""
