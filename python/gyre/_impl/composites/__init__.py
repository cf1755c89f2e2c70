"""Values that are made of several tensors, with their specs: slices, sparse and ragged tensors."""
