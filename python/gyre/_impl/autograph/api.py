"""gyre.autograph: conversion on request."""

import functools

from gyre._impl.autograph import calls, source
from gyre._impl.tracing import lines


def to_graph(entity, recursive=True, experimental_optional_features=None):
    """A function like `entity` whose control flow becomes part of the graph that is being traced.

    recursive and the features are taken, and of no effect: conversion is complete.
    ValueError if the function cannot be converted."""
    del recursive, experimental_optional_features
    entity = getattr(entity, "python_function", entity)
    if getattr(entity, "autograph_info__", None) is not None:
        return entity
    if not hasattr(entity, "__code__"):
        raise ValueError(f"to_graph takes a Python function, not a {type(entity).__name__}")
    lines.install()
    try:
        return source.convert(getattr(entity, "__func__", entity), calls.OPERATORS)
    except source.Unconvertible as why:
        raise ValueError(f"{entity.__qualname__} cannot be converted: {why}") from None


def to_code(entity, recursive=True, experimental_optional_features=None):
    """The source of the converted function, for curiosity."""
    del recursive, experimental_optional_features
    return source.to_code(getattr(entity, "python_function", entity))


def convert(recursive=True, optional_features=None, user_requested=True, conversion_ctx=None):
    """A decorator: the function is converted when it is called."""
    del recursive, optional_features, user_requested, conversion_ctx

    def decorate(fn):
        @functools.wraps(fn)
        def call(*args, **kwargs):
            return calls.converted_call(fn, args, kwargs)

        call.autograph_info__ = {}  # pyright: ignore[reportAttributeAccessIssue]
        return call

    return decorate


def do_not_convert(func=None):
    """A decorator: the function stays as it is. Tensors that are traced have no truth in it."""
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def call(*args, **kwargs):
        return func(*args, **kwargs)

    call.autograph_info__ = {}  # pyright: ignore[reportAttributeAccessIssue]
    return call
