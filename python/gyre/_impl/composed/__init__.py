"""Functions that are loops over ops."""
