"""`if`, conditional expressions, `and`, `or`, `not`, chained comparisons and `assert`."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.autograph import arithmetic, members
from gyre._impl.autograph.truth import not_, truth
from gyre._impl.control_flow.merging import merge
from gyre._impl.tracing import aliases
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.lists import CONTAINERS, fresh
from gyre._impl.tracing.state import Recursion, condition, is_symbolic, shown, state


def if_stmt(cond, body, orelse, get_state, set_state, symbol_names, nouts, is_unless=False):
    """An if statement. get_state and set_state reach the names that its branches assign; the first
    `nouts` of them are used afterwards. is_unless: what follows a statement that may jump, unless
    it has."""
    cond = truth(cond)
    if not is_symbolic(cond):
        if cond:
            body()
        else:
            orelse()
        return
    at = place()
    before = get_state()
    if state.probing:
        _first_that_does_not_recurse(before, set_state, body, orelse)
        return

    kept = {}  # block -> for each name, which containers are still those that the block was given

    def run(block):
        given = fresh(before)
        containers = [_Containers(value) for value in given[:nouts]]
        set_state(given)
        block()
        found = get_state()[:nouts]
        kept[block] = [own.kept_in(value) for own, value in zip(containers, found, strict=True)]
        return found

    after = merge(
        cond,
        lambda: run(body),
        lambda: run(orelse),
        symbol_names[:nouts],
        at,
        _behind_a_jump if is_unless else _branches_of_if,
        before[:nouts],
    )
    after = [
        _same_containers(old, new, *marks)
        for old, new, *marks in zip(before[:nouts], after, *kept.values(), strict=True)
    ]
    for name, old, new, *marks in zip(
        symbol_names[:nouts], before[:nouts], after, *kept.values(), strict=True
    ):
        if any(mark is not None for mark in marks):
            aliases.check_names(name, old, new, None not in marks, f"the traced if at {at}")
    set_state(tuple(after) + tuple(before[nouts:]))


class _Containers:
    """A list, dict or set that a block is given, and those in it."""

    def __init__(self, value):
        self.value = value if type(value) in CONTAINERS else None
        self.items = {key: _Containers(item) for key, item in _items_of(self.value)}

    def kept_in(self, value):
        """None if the block has put something else in its place; else the same of its items."""
        if self.value is None or value is not self.value:
            return None
        now = dict(_items_of(value))
        return {key: own.kept_in(now[key]) for key, own in self.items.items() if key in now}


def _items_of(container):
    if type(container) is dict:
        return container.items()
    return enumerate(container) if type(container) is list else ()


def _same_containers(old, new, *marks):
    """Containers that both branches change, and do not replace: other names of them see that."""
    if type(old) not in CONTAINERS or type(new) is not type(old) or None in marks:
        return new
    items, before = dict(_items_of(new)), dict(_items_of(old))
    for key in items.keys() & before.keys():
        if all(key in mark for mark in marks):
            items[key] = _same_containers(before[key], items[key], *(mark[key] for mark in marks))
    changed = set(new) if type(new) is set else items if type(new) is dict else items.values()
    old.clear()
    (old.extend if type(old) is list else old.update)(changed)
    return old


def _first_that_does_not_recurse(before, set_state, *blocks):
    for i, block in enumerate(blocks):
        set_state(fresh(before))
        try:
            block()
            return
        except Recursion:
            if i == len(blocks) - 1:
                raise


def _branches_of_if(name, at, then, otherwise, why):
    return (
        f"{shown(name)} differs in the branches of the if at {at}: {why}. Where its condition is "
        f"true it is {then.describe()}, else {otherwise.describe()}. Make both the same kind, or "
        f"decide with a Python value"
    )


def _behind_a_jump(name, at, then, otherwise, why):
    found = f"at {at} it is {then.describe()}, before that {otherwise.describe()}"
    if shown(name) == repr(name):
        return (
            f"{shown(name)} differs where a jump (return, break or continue) before {at} may pass "
            f"over what follows: {why}; {found}. Make both the same kind"
        )
    return f"{shown(name)} differs: {why}; {found}. Return the same kind everywhere"


def _results_of_expression(name, at, then, otherwise, why):
    return (
        f"the two values of {name} at {at} differ: {why}. Where the condition is true it is "
        f"{then.describe()}, else {otherwise.describe()}"
    )


def if_exp(cond, if_true, if_false, expr_repr):
    """`a if cond else b`."""
    cond = truth(cond)
    if not is_symbolic(cond):
        return if_true() if cond else if_false()
    if state.probing:
        try:
            return if_true()
        except Recursion:
            return if_false()
    return merge(
        cond,
        lambda: [if_true()],
        lambda: [if_false()],
        [f"the conditional expression on {expr_repr}"],
        place(),
        _results_of_expression,
    )[0]


def _boolean(value):
    value = truth(value)
    return value if isinstance(value, _gyre.Tensor) else bool(value)


def and_(left, *others):
    """`left and b and …`; others: functions of the operands that follow, which are computed only as
    far as that goes."""
    left = condition(left)
    if not others:
        return left
    test = truth(left)
    if not is_symbolic(test):
        return and_(others[0](), *others[1:]) if test else left
    if state.probing:
        return left
    return _choose(
        test,
        left,
        "and",
        lambda kind: kind(and_(others[0](), *others[1:])),
        lambda kind: kind(left),
    )


def or_(left, *others):
    """`left or b or …`, as `and_`."""
    left = condition(left)
    if not others:
        return left
    test = truth(left)
    if not is_symbolic(test):
        return left if test else or_(others[0](), *others[1:])
    if state.probing:
        return left
    return _choose(
        test, left, "or", lambda kind: kind(left), lambda kind: kind(or_(others[0](), *others[1:]))
    )


def _choose(test, left, word, if_true, if_false):
    """One of two operands, by the truth of the first: bools where that is one, else as they are."""
    kind = _boolean if test is left else condition
    return merge(
        test,
        lambda: [if_true(kind)],
        lambda: [if_false(kind)],
        [word],
        place(),
        _results_of_expression,
        name=word,
    )[0]


def compare(sign, a, b):
    """`a < b` and its like."""
    if sign in ("is", "is not"):
        aliases.check_is(a, b)
        return a is b if sign == "is" else a is not b
    if sign == "in":
        return members.contains(b, a)
    if sign == "not in":
        return not_(members.contains(b, a))
    return arithmetic.compare(sign, a, b)


def chain(signs, first, second, *rest):
    """`a < b < c`: each part is computed once, and only as far as the comparison goes."""
    result = compare(signs[0], first, second)
    if not rest:
        return result
    return and_(result, lambda: chain(signs[1:], second, rest[0](), *rest[1:]))


def assert_stmt(expression, message, parts=None):
    """`assert expression, message()`. parts: a function of what an f-string is made of, so that a
    run can say what its tensors are."""
    expression = truth(expression)
    if not is_symbolic(expression):
        assert expression, message()
        return
    text = message() if parts is None else parts()
    if text is None:
        text = "assertion failed"
    data = [_gyre.convert(part) for part in nest.flatten(text)]
    _gyre.execute("Assert", [expression, data])


__all__ = ["and_", "assert_stmt", "chain", "compare", "if_exp", "if_stmt", "or_"]
