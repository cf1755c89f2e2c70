"""Locks of the package. In a child of a fork() none is held: the threads that held some stayed with
the parent."""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")
_made = weakref.WeakSet()


def lock():
    """A threading.Lock."""
    return _known(threading.Lock())


def reentrant_lock():
    """A threading.RLock."""
    return _known(threading.RLock())


def _known(made):
    _made.add(made)
    return made


def _free_all():
    for made in list(_made):
        made._at_fork_reinit()


os.register_at_fork(after_in_child=_free_all)


class lazily(Generic[_Value]):
    """An attribute that is computed when it is first read, without a lock (functools has one, of
    all instances together): threads that ask for it at once may each compute it."""

    def __init__(self, compute: Callable[..., _Value]):
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, obj, kind=None) -> _Value:
        if obj is None:
            return self  # pyright: ignore[reportReturnType]
        return obj.__dict__.setdefault(self._name, self._compute(obj))
