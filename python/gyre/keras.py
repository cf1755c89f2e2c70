"""Keras 3 on Gyre: `gyre.keras` is the package `keras`, with Gyre as its backend.

Keras is not part of Gyre: `pip install '.[keras]'` in the checkout. It runs on one backend per
process, which is chosen when it is first imported; this module therefore has to come before any
other backend.
"""

import importlib
import os
import sys

from gyre._keras import aliases, hook


def _load():
    hook.install()
    before = os.environ.get("KERAS_BACKEND")
    try:
        if "keras" not in sys.modules:
            hook.choose()
            os.environ["KERAS_BACKEND"] = hook.NAME  # Keras reads it when it is imported
        keras = importlib.import_module("keras")
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise
        raise ModuleNotFoundError(
            "gyre.keras is Keras 3, which is not installed: pip install '.[keras]' in the checkout",
            name="keras",
        ) from None
    finally:  # other processes that this one starts choose for themselves
        if before is None:
            os.environ.pop("KERAS_BACKEND", None)
        else:
            os.environ["KERAS_BACKEND"] = before
    used = keras.config.backend()
    if used != hook.NAME:
        raise ImportError(
            f"Keras was imported with the backend '{used}' before gyre.keras, and has one backend "
            "per process: import gyre.keras first, or set KERAS_BACKEND=gyre"
        )
    return keras


_keras = _load()
__path__ = []
__all__ = [name for name in dir(_keras) if not name.startswith("_")]
aliases.install(__name__, "keras")


def __getattr__(name):
    return getattr(_keras, name)


def __dir__():
    return dir(_keras)
