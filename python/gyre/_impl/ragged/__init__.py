"""What functions of tensors do with ragged ones: found by gyre._impl.dispatch, by their names."""
