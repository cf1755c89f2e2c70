"""What layers have of this backend."""


class Layer:
    """Layers need nothing of their own here: variables are objects that ops take."""
