"""Containers of which a run decides which they are: `c = p if x > 0 else q`, with lists p and q.
The graph has the items of both, and chooses among these; so `c` is a container of its own, whereas
in Python it is another name of p or q. That is the same as long as nobody writes to it, or asks
whether it is p: both are refused."""

from gyre._impl.tracing.contents import has_other_names
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import state

_KINDS = (list, dict, set)


def mark_chosen(value, sides, is_older, at):
    """Notes of what has become of the values that both paths left whether it was chosen. is_older:
    says of a container whether it was there before, so that it has another name."""
    kind = type(value)
    if kind in _KINDS and any(
        is_older(side) or id(side) in state.chosen for side in sides if type(side) in _KINDS
    ):
        state.chosen[id(value)] = value, at
    for key in _keys(value):
        inner = [side[key] for side in sides if type(side) is kind and key in _keys(side)]
        mark_chosen(value[key], inner, is_older, at)


def mark_renamed(name, before, value, at):
    """Notes that `name` holds another container after one of two branches, and the same as before
    after the other: where that has other names, a run decides whether they are of one container."""
    if type(before) in _KINDS and type(value) in _KINDS and has_other_names(before, name):
        state.chosen[id(value)] = value, at


def _keys(value):
    if type(value) is dict:
        return value.keys()
    return range(len(value)) if type(value) in (list, tuple) else ()


def copy_mark(before, made):
    """`made` stands for `before` in a block."""
    found = state.chosen.get(id(before))
    if found is not None and type(made) in _KINDS:
        state.chosen[id(made)] = made, found[1]


def check_write(container, what):
    """Refuses to change a container that was chosen."""
    found = state.chosen.get(id(container))
    if found is not None:
        kind = type(container).__name__
        raise TypeError(
            f"{what} at {place()} would change a {kind} that was chosen at {found[1]} by a tensor: "
            f"only a run tells which one, and what else knows it would not see the change. Copy it "
            f"first ({kind}(…)), or choose among the items instead"
        )


def check_is(a, b):
    """Refuses to compare the identity of a container that was chosen with that of another."""
    for one, other in (a, b), (b, a):
        found = state.chosen.get(id(one))
        if found is not None and type(other) in _KINDS:
            raise TypeError(
                f"'is' at {place()} asks which {type(one).__name__} was chosen at {found[1]} by a "
                "tensor: only a run tells. Compare the values, or keep the condition"
            )
