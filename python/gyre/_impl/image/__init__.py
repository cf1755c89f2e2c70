"""gyre.image: images as tensors, [height, width, channels] or [batch, height, width, channels]."""
