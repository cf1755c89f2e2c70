"""gyre.compat.v1: programs that build graphs and run them in sessions, as TensorFlow 1 has them."""
