"""Functions whose calls may be batched."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.control_flow.branches import as_tensors, stopped
from gyre._impl.tracing.user_code import user_code


def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes=None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Callable[..., Any]:
    """A decorator of functions of tensors whose rows do not depend on each other: no gradient goes
    through them. Each call is a batch of its own, as no call waits for others: nothing of what
    is said of batches and threads has an effect."""
    del num_batch_threads, max_batch_size, batch_timeout_micros, allowed_batch_sizes
    del max_enqueued_batches, enable_large_batch_splitting

    def decorate(fn):
        @functools.wraps(fn)
        def call(*args):
            taken = nest.map_structure(stopped, as_tensors(args), expand_composites=True)
            results = (user_code(fn) if autograph else fn)(*taken)
            return nest.map_structure(stopped, as_tensors(results), expand_composites=True)

        return call

    return decorate
