"""One of two branches, by a condition that a run tells: what both leave becomes one value each."""

from gyre import _gyre
from gyre._impl import handlers, nest
from gyre._impl.errors import StructureError
from gyre._impl.tracing import aliases, raising
from gyre._impl.tracing import layout as layouts
from gyre._impl.tracing.effects import Watch
from gyre._impl.tracing.layout import Mismatch, Refusal, Taken
from gyre._impl.tracing.state import Restart
from gyre._impl.tracing.undefined import PartlyDefined, Undefined, UndefinedReturnValue, settled


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
                unsure = (
                    self.before is not None
                    and not isinstance(self.before[i], _DEFINED)
                    and not taken.undefined
                )
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
        differ = nest.difference(then.value, otherwise.value)
        raise (StructureError if differ else TypeError)(
            self.refusal(self.names[i], self.at, then, otherwise, why)
        ) from None

    def results(self, tensors, is_older):
        tensors = iter(tensors)
        values = []
        for i, chosen in enumerate(self.layouts):
            then, otherwise = self.then_taken[i], self.else_taken[i]
            if chosen.undefined:
                values.append(then.value if then.value is not None else Undefined(self.names[i]))
                continue
            value, flag = chosen.pack(tensors)
            known = self._known_value(then, otherwise)
            if flag is not None and (
                then.undefined
                or otherwise.undefined
                or then.flag is not None
                or otherwise.flag is not None
            ):
                run_time = self._decided_at_run_time(i)
                value = settled(
                    str(self.names[i]), PartlyDefined(value, flag, self.names[i], self.at, run_time)
                )
            elif known is not None:
                value = known
            aliases.mark_chosen(value, (then.value, otherwise.value), is_older, self.at)
            values.append(value)
        return values

    def _decided_at_run_time(self, i):
        """Whether a name that is not on all paths may be read: a loop may have given it a value
        before, or it is there on one path and perhaps on the other. Else no run could read it in
        both cases."""
        if isinstance(self.before and self.before[i], PartlyDefined) and self.before[i].run_time:
            return True
        sides = self.then_taken[i], self.else_taken[i]
        return not any(side.undefined for side in sides)

    @staticmethod
    def _known_value(then, otherwise):
        """What both branches give without having made it: a Python number, a tensor of outside."""
        if then.value is otherwise.value and isinstance(then.value, _gyre.Tensor):
            return then.value
        if (
            len(then.leaves) == len(otherwise.leaves) == 1
            and then.leaves[0].scalar
            and otherwise.leaves[0].scalar
            and then.value is then.leaves[0].value
            and layouts.same(then.value, otherwise.value)
        ):
            return then.value
        return None


class _Defined(type):
    def __instancecheck__(cls, value):
        return not isinstance(value, (Undefined, UndefinedReturnValue, PartlyDefined))


class _DEFINED(metaclass=_Defined):
    """Any value but those that are not (always) there."""


def merge(cond, then_fn, else_fn, names, at, refusal, before=None, name="cond"):
    """The values that then_fn() or else_fn() return, by a symbolic condition. Both return equally
    many; `names` are theirs. refusal(name, at, then, otherwise, why): how an error says that they
    cannot be one; `before`: the values that the names had."""
    attempt = _Branches(names, at, before, refusal)
    watch = Watch(then_fn, else_fn, kind="if", at=at, names=names)
    while True:
        then = _watched(watch, then_fn, attempt.then, names)
        otherwise = _watched(watch, else_fn, attempt.otherwise, names)
        try:
            results = _gyre.trace_cond(cond, then, otherwise, None, name)
            return attempt.results(results, watch.is_older)
        except Restart as restart:
            if restart.owner is not attempt:
                raise
        except Exception as error:
            if not handlers.raised(error):
                raising.explain(error, "if", at)
            raise


def _watched(watch, fn, keep, names):
    """A branch: what fn() returns, handed to `keep`, once it is known to have no side effects."""

    def branch():
        with watch:
            values = fn()
            watch.check(names)
            return keep(values)

    return branch
