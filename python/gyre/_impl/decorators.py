"""make_decorator: for decorators that stand in for what they decorate."""

import functools
from collections.abc import Callable


def make_decorator(
    target, decorator_func, decorator_name=None, decorator_doc="", decorator_argspec=None
) -> Callable:
    """decorator_func, which stands for `target` from now on: under its name, with its signature.
    The others are for TensorFlow's sake."""
    del decorator_name, decorator_argspec
    made = functools.update_wrapper(decorator_func, target)
    if decorator_doc:
        made.__doc__ = f"{made.__doc__ or ''}\n\n{decorator_doc}".strip()
    return made
