"""Small plain Python functions. Each is called as Python with numbers, and traced with tensors."""

CASES = []


def case(*calls):
    """Registers a function with the arguments that it is called with:
    tuples of ints, floats, lists."""

    def register(fn):
        CASES.append((fn, calls))
        return fn

    return register
