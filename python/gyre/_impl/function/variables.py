"""Variables that are created while a function is traced: by its first call only."""

import threading


class _Open(threading.local):
    def __init__(self):
        self.creations = []


_open = _Open()


class Creation:
    """While a function is traced: what becomes of variables that it creates."""

    def __init__(self, function):
        self.function = function
        self.variables = []

    def __enter__(self):
        self.allowed = not self.function._created
        _open.creations.append(self)
        return self

    def __exit__(self, kind, error, traceback):
        _open.creations.remove(self)
        if kind is None:
            self.function._created = True


def created(variable):
    """Told of each variable that is created while a graph is current. ValueError if it may not be."""
    if not _open.creations:
        return
    creation = _open.creations[-1]
    if not creation.allowed:
        raise ValueError(
            f"{creation.function.name} creates a variable each time it is traced: variables may be created "
            f"by the first call only. Create it outside, or keep it: `if self.v is None: self.v = …`")
    creation.variables.append(variable)
