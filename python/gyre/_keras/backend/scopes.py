"""Scopes of names and of devices."""

from keras.src.backend.common.name_scope import name_scope as keras_name_scope

import gyre


class name_scope(keras_name_scope):
    """A scope of paths of variables; nodes of graphs are named after it, too."""

    def __init__(self, name, **options):
        super().__init__(name, **options)
        self._nodes = gyre.name_scope(name)

    def __enter__(self):
        super().__enter__()
        self._nodes.__enter__()
        return self

    def __exit__(self, *error):
        self._nodes.__exit__(*error)
        super().__exit__(*error)


def device_scope(device_name):
    """The device of Keras' name, such as "gpu:0"."""
    kind, _, number = device_name.strip("/").removeprefix("device:").partition(":")
    return gyre.device(f"/device:{kind.upper()}:{number or 0}")
