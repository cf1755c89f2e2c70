"""gyre.compat.v1.nn: recurrent networks of TensorFlow 1, as functions and cells."""
