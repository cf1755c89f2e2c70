"""gyre.compat.v1.train: optimizers, schedules, checkpoints of sessions."""
