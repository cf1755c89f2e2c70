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


def check_names(name, before, value, is_changed, what):
    """Of a container that `name` holds before a block (`what`, for messages), and the value that it
    has after it, where that is another one: whether it has other names, too. is_changed: the block
    changes the container, which they would not see: TypeError. Else it gives the name another
    container on some paths, and a run decides whether the names are of one."""
    if value is before or type(before) not in _KINDS or not has_other_names(before, name):
        return
    if is_changed:
        kind = type(before).__name__
        raise TypeError(
            f"{what} changes the {kind} {name!r}, which has another name that would not see it. "
            f"Use one name, or give the other a copy ({kind}(…))"
        )
    if type(value) in _KINDS:
        state.chosen[id(value)] = value, what.rpartition(" ")[2]


def _keys(value):
    if type(value) is dict:
        return value.keys()
    return range(len(value)) if type(value) in (list, tuple) else ()


def copy_mark(before, made):
    """`made`, a container or a list of the graph, stands for `before` in a block."""
    found = state.chosen.get(id(before))
    if found is not None:
        state.chosen[id(made)] = made, found[1]


def check_write(container, what):
    """Refuses to change a container that was chosen."""
    found = state.chosen.get(id(container))
    if found is not None:
        kind = type(container).__name__ if type(container) in _KINDS else "list"
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
