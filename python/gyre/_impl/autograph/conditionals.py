"""`if`, conditional expressions, `and`, `or`, `not`, chained comparisons and `assert`."""

from gyre import _gyre
from gyre._impl import handlers
from gyre._impl.autograph import layout as layouts
from gyre._impl.autograph import members, objects, raising
from gyre._impl.autograph.effects import Watch
from gyre._impl.autograph.layout import Mismatch, Refusal, Taken
from gyre._impl.autograph.lists import CONTAINERS, fresh
from gyre._impl.autograph.tracing import (Recursion, Restart, condition, is_symbolic, place, shown,
                                          state, truth)
from gyre._impl.autograph.undefined import (PartlyDefined, Undefined,
                                            UndefinedReturnValue, settled)


def if_stmt(cond, body, orelse, get_state, set_state, symbol_names, nouts):
    """An if statement. get_state and set_state reach the names that its branches assign; the first
    `nouts` of them are used afterwards."""
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
        kept[block] = [own.kept_in(value) for own, value in zip(containers, found)]
        return found

    after = merge(cond, lambda: run(body), lambda: run(orelse), symbol_names[:nouts], at,
                  before[:nouts], _branches_of_if)
    after = [_same_containers(old, new, *marks) for old, new, *marks in zip(before, after, *kept.values())]
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
    return (f"{shown(name)} differs in the branches of the if at {at}: {why}. Where its condition is true "
            f"it is {then.describe()}, else {otherwise.describe()}. Make both the same kind, or "
            f"decide with a Python value")


class _Branches:
    """One attempt after the other to trace both branches with the same layout."""

    def __init__(self, names, at, before, refusal):
        self.names, self.at, self.refusal = names, at, refusal
        self.before = before
        self.plan = {}

    def then(self, values):
        self.then_taken = [Taken(value) for value in values]
        self.layouts, tensors = [], []
        for i, taken in enumerate(self.then_taken):
            chosen = self.plan.get(i)
            if chosen is None:
                unsure = self.before is not None and not isinstance(
                    self.before[i], _DEFINED) and not taken.undefined
                chosen = layouts.layout_of(taken, flagged=unsure)
            self.layouts.append(chosen)
            tensors.extend(self._emit(i, chosen, taken))
        return tensors

    def _emit(self, i, chosen, taken):
        try:
            return chosen.emit(taken)
        except Mismatch:
            self.refuse(i, taken, taken, "it does not fit")

    def otherwise(self, values):
        self.else_taken = [Taken(value) for value in values]
        tensors = []
        for i, taken in enumerate(self.else_taken):
            try:
                tensors.extend(self.layouts[i].emit(taken))
            except Mismatch:
                self._join(i)
                raise Restart(self) from None
        return tensors

    def _join(self, i):
        try:
            joined = layouts.join(self.then_taken[i], self.else_taken[i])
        except Refusal as why:
            self.refuse(i, self.then_taken[i], self.else_taken[i], why)
        if i in self.plan:
            self.refuse(i, self.then_taken[i], self.else_taken[i], "it cannot be made the same")
        self.plan[i] = joined

    def refuse(self, i, then, otherwise, why):
        raise TypeError(self.refusal(self.names[i], self.at, then, otherwise, why)) from None

    def results(self, tensors):
        tensors = iter(tensors)
        values = []
        for i, chosen in enumerate(self.layouts):
            then, otherwise = self.then_taken[i], self.else_taken[i]
            if chosen.undefined:
                values.append(then.value if then.value is not None else Undefined(self.names[i]))
                continue
            value, flag = chosen.pack(tensors)
            known = self._known_value(then, otherwise)
            if flag is not None and (then.undefined or otherwise.undefined
                                     or then.flag is not None or otherwise.flag is not None):
                run_time = self._decided_at_run_time(i)
                value = settled(str(self.names[i]), PartlyDefined(
                    value, flag, self.names[i], self.at, run_time))
            elif known is not None:
                value = known
            values.append(value)
        return values

    def _decided_at_run_time(self, i):
        """Whether a name that is not on all paths may be read: a loop may have given it a value before,
        or it is there on one path and perhaps on the other. Else no run could read it in both cases."""
        if isinstance(self.before and self.before[i], PartlyDefined) and self.before[i].run_time:
            return True
        sides = self.then_taken[i], self.else_taken[i]
        return not any(side.undefined for side in sides)

    @staticmethod
    def _known_value(then, otherwise):
        """What both branches give without having made it: a Python number, a tensor of outside."""
        if then.value is otherwise.value and isinstance(then.value, _gyre.Tensor):
            return then.value
        if (len(then.leaves) == len(otherwise.leaves) == 1 and then.leaves[0].scalar
                and otherwise.leaves[0].scalar and then.value is then.leaves[0].value
                and layouts.same(then.value, otherwise.value)):
            return then.value
        return None


class _Defined(type):
    def __instancecheck__(cls, value):
        return not isinstance(value, (Undefined, UndefinedReturnValue, PartlyDefined))


class _DEFINED(metaclass=_Defined):
    """Any value but those that are not (always) there."""


def merge(cond, then_fn, else_fn, names, at, before=None, refusal=_branches_of_if, name="cond"):
    """The values that then_fn() or else_fn() return, by a symbolic condition. Both return equally many;
    `names` are theirs."""
    attempt = _Branches(names, at, before, refusal)
    while True:
        watch = Watch(then_fn, else_fn, kind="if", at=at, names=names)

        def then():
            with watch:
                values = then_fn()
                watch.check(names)
                return attempt.then(values)

        def otherwise():
            with watch:
                values = else_fn()
                watch.check(names)
                return attempt.otherwise(values)

        try:
            return attempt.results(_gyre.trace_cond(cond, then, otherwise, None, name))
        except Restart as restart:
            if restart.owner is not attempt:
                raise
        except Exception as error:
            if not handlers.raised(error):
                raising.explain(error, "if", at)
            raise


def _results_of_expression(name, at, then, otherwise, why):
    return (f"the two values of {name} at {at} differ: {why}. Where the condition is true it is "
            f"{then.describe()}, else {otherwise.describe()}")


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
    return merge(cond, lambda: [if_true()], lambda: [if_false()],
                 [f"the conditional expression on {expr_repr}"], place(), None,
                 _results_of_expression)[0]


def _boolean(value):
    value = truth(value)
    return value if isinstance(value, _gyre.Tensor) else bool(value)


def and_(left, *others):
    """`left and b and …`; others: functions of the operands that follow, which are computed only as far
    as that goes."""
    left = condition(left)
    if not others:
        return left
    test = truth(left)
    if not is_symbolic(test):
        return and_(others[0](), *others[1:]) if test else left
    if state.probing:
        return left
    return _choose(test, left, "and", lambda kind: kind(and_(others[0](), *others[1:])), lambda kind: kind(left))


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
    return _choose(test, left, "or", lambda kind: kind(left), lambda kind: kind(or_(others[0](), *others[1:])))


def _choose(test, left, word, if_true, if_false):
    """One of two operands, by the truth of the first: bools where that is one, else as they are."""
    kind = _boolean if test is left else condition
    return merge(test, lambda: [if_true(kind)], lambda: [if_false(kind)], [word], place(), None,
                 _results_of_expression, word)[0]


def not_(a):
    """`not a`."""
    a = truth(a)
    if is_symbolic(a):
        return _gyre.execute("LogicalNot", [a])[0]
    return not a


def compare(sign, a, b):
    """`a < b` and its like."""
    if sign == "is":
        return a is b
    if sign == "is not":
        return a is not b
    if sign == "in":
        return members.contains(b, a)
    if sign == "not in":
        return not_(members.contains(b, a))
    return objects.compare(sign, a, b)


def chain(signs, first, second, *rest):
    """`a < b < c`: each part is computed once, and only as far as the comparison goes."""
    result = compare(signs[0], first, second)
    if not rest:
        return result
    return and_(result, lambda: chain(signs[1:], second, rest[0](), *rest[1:]))


def assert_stmt(expression, message, parts=None):
    """`assert expression, message()`. parts: a function of what an f-string is made of, so that a run can
    say what its tensors are."""
    expression = truth(expression)
    if not is_symbolic(expression):
        assert expression, message()
        return
    text = message() if parts is None else parts()
    if text is None:
        text = "assertion failed"
    from gyre._impl import nest
    data = [_gyre.convert(part) for part in nest.flatten(text)]
    _gyre.execute("Assert", [expression, data])


__all__ = ["and_", "assert_stmt", "chain", "compare", "if_exp", "if_stmt", "merge", "not_", "or_"]
