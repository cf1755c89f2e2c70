"""gyre.saved_model: models as TensorFlow exports them."""
