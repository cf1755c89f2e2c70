"""gyre.distribute: collectives of ranks, and strategies that stand on them."""
