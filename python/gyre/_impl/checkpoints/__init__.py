"""Checkpoints in TensorFlow's format: which a folder holds, and what is in them."""
