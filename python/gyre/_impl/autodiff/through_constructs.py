"""Which sources have a gradient of zeros in TensorFlow, where the core finds none.

TensorFlow differentiates a conditional or a loop as a whole: whatever it takes has an adjoint, of
zeros where the branch or the body does not depend on it. Programs fetch these.
"""

from __future__ import annotations

from gyre import _gyre

_LOOPS = frozenset(("While", "StatelessWhile"))
_CONSTRUCTS = _LOOPS | {"If", "StatelessIf", "Case", "StatelessCase"}
_ENDS = frozenset(("StopGradient", "PreventGradient", "ZerosLike", "OnesLike", "Shape"))


def _carries(tensor) -> bool:
    dtype = tensor.dtype
    return dtype.is_floating or dtype.is_complex or dtype.name in ("variant", "resource")


def _taken(targets: list, constructs: frozenset) -> list:
    """What the constructs take that lie behind the targets: tensors, and handles of variables."""
    waiting = [_gyre.node_of(t) for t in targets if t.is_symbolic]
    seen, found = set(waiting), []
    while waiting:
        node = waiting.pop()
        if node.type in _ENDS:
            continue
        for tensor in node.inputs:
            before = _gyre.node_of(tensor)
            if not _carries(tensor) and before.type not in constructs:
                continue
            if node.type in constructs:
                found.append(tensor)
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return found


def are_reached(sources: list, targets: list, loops_alone: bool = False) -> list[bool]:
    """For each source (a tensor, or the handle of a variable) whether a construct that lies behind
    the targets takes it, or what depends on it. loops_alone: no conditional counts, as where these
    are primitives."""
    taken = _taken(targets, _LOOPS if loops_alone else _CONSTRUCTS)
    if not taken:
        return [False] * len(sources)
    keys = {(_gyre.node_of(t), _gyre.slot_of(t)) for t in taken}
    reached = [(_gyre.node_of(s), _gyre.slot_of(s)) in keys for s in sources]
    numbers = [t for t in taken if t.dtype.is_floating or t.dtype.is_complex]
    left = [i for i, is_reached in enumerate(reached) if not is_reached]
    if left and numbers:
        found = _gyre.gradients(
            numbers, [sources[i] for i in left], None, stops=[], unconnected="none", sparse=True
        )
        for i, gradient in zip(left, found, strict=True):
            reached[i] = gradient is not None
    return reached
