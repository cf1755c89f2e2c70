"""gyre.cluster: workers, and connections to them; the names that TensorFlow has for these."""
