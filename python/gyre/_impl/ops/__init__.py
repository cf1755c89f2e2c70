"""Functions of one op, or a few, by kinds: made, in another form, by index;
elementwise, reductions, matrices."""
