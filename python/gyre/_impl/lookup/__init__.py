"""Tables of keys and values, and what fills them."""
