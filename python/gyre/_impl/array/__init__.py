"""Making, reshaping, joining and indexing tensors."""
