"""Tensors out of bytes: Examples and their features, numbers, lines of text."""
