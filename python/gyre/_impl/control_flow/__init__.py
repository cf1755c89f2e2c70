"""Control flow constructs, one per file."""
