"""gyre.raw_ops: all ops by their own names."""
