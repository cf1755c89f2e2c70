"""What gradient functions of users raised while they were traced: it is raised where gradients go
through what they belong to, and nowhere else."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator

from gyre import _gyre
from gyre._impl import errors

_MOST = 64  # errors, each of which keeps the frames that it came through
_kept: dict[str, Exception] = {}
_numbers = itertools.count()
_OWN_GRADIENT = re.compile(r"a gradient of its own, '([^']*)'")


def marked(tensors: list, error: Exception) -> list:
    """The same values, whose gradient raises `error`."""
    key = f"kept_error_{next(_numbers)}"
    _kept[key] = error
    if len(_kept) > _MOST:
        del _kept[next(iter(_kept))]
    return [_gyre.execute("Identity", [t], {"_gradient_op_type": key})[0] for t in tensors]


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Around what finds gradients: an error that was kept is raised."""
    try:
        yield
    except errors.UnimplementedError as error:
        own = _OWN_GRADIENT.search(error.message)
        kept = _kept.get(own[1]) if own else None
        if kept is None:
            raise
        raise kept from None
