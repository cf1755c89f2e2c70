"""What optimizers have in common."""

from collections.abc import Iterable
from typing import Any

from gyre import _gyre
from gyre._impl.autodiff.tape import GradientTape
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.distribute import context
from gyre._impl.tracing import late_values
from gyre._impl.tracing.user_code import user_code
from gyre._impl.variable import Variable

# What programs for other optimizers ask for, and what there is.
_CLIP = (
    "clip the gradients before apply_gradients, with gyre.clip_by_norm, clip_by_value or "
    "clip_by_global_norm"
)
_INSTEAD = {
    "lr": "it is called learning_rate",
    "decay": "give a schedule of gyre.optimizers as learning_rate",
    "weight_decay": "add it to the loss",
    "clipnorm": _CLIP,
    "clipvalue": _CLIP,
    "global_clipnorm": _CLIP,
}


class Optimizer:
    """Changes variables by gradients, eagerly or in a function.

    What it remembers of a variable (slots) and the number of steps are Variables, made with the
    first step; a checkpoint of the optimizer has them all. The learning rate is a number (kept in a
    Variable, so that it can be set later), a Variable, or a schedule: a function of the number of
    steps taken before. Subclasses give the rule: what a step does to a variable.
    """

    def __init__(
        self,
        learning_rate,
        name: str,
        others: Iterable[str],
        rule: _gyre.OptimizerRule,
    ):
        self._rule = rule
        # Names of slots, each of the variable's dtype and shape, zeros at first.
        self._slots = self._rule.slot_variables
        for option in others:
            raise TypeError(
                f"{type(self).__name__} has no option {option!r}"
                + (f": {_INSTEAD[option]}" if option in _INSTEAD else "")
            )
        self.name = name
        self.iterations = Variable(0, trainable=False, name=f"{name}/iterations", dtype="int64")
        self._slot_variables: dict[str, dict[int, tuple[Variable, Variable]]] = {}
        if callable(learning_rate) or isinstance(learning_rate, Variable):
            self._rate = learning_rate
        else:
            try:
                rate = float(learning_rate)
            except (TypeError, ValueError):
                raise TypeError(
                    f"learning_rate must be a number, a Variable or a schedule, not "
                    f"{learning_rate!r}"
                ) from None
            self._rate = Variable(
                rate, trainable=False, name=f"{name}/learning_rate", dtype="float64"
            )

    @property
    def learning_rate(self):
        """The rate: a Variable, or the schedule."""
        return self._rate

    @learning_rate.setter
    def learning_rate(self, value) -> None:
        if isinstance(self._rate, Variable) and not callable(value):
            value = convert_to_tensor(value, dtype_hint="float64")
            self._rate.assign(call("Cast", value, DstT=self._rate.dtype))
        else:
            self._rate = value

    def _current_rate(self):
        """The rate of this step, float64."""
        rate = self._rate
        if callable(rate) and not isinstance(rate, Variable):
            rate = rate(self.iterations.read_value())
        rate = convert_to_tensor(rate, dtype_hint="float64")
        return (
            rate
            if rate.dtype.name == "float64"
            else call("Cast", rate, DstT=_gyre.as_dtype("float64"))
        )

    def slot(self, name: str, variable: Variable) -> Variable:
        """What is remembered of a variable, made with zeros at first."""
        slots = self._slot_variables.setdefault(name, {})
        found = slots.get(variable.handle.id)
        if found is None:
            with _gyre.init_scope():
                value = call("ZerosLike", _gyre.read_variable(variable.handle))
                made = Variable(value, trainable=False, name=f"{variable._name}/{name}")
            found = slots[variable.handle.id] = (made, variable)
            if late_values.waiting:
                late_values.look()
        return found[0]

    def build(self, var_list) -> None:
        """Makes the slots of variables, as the first step would: before a restore, say."""
        for variable in var_list:
            for name in self._slots:
                self.slot(name, variable)

    @property
    def variables(self) -> list[Variable]:
        """The number of steps, the rate, and all slots."""
        return list(self._tracked_items().values())

    def _tracked_items(self) -> dict[str, Variable]:
        """Names for checkpoints: slots are numbered in the order of the variables' first steps."""
        named = {"iterations": self.iterations}
        if isinstance(self._rate, Variable):
            named["learning_rate"] = self._rate
        for name, slots in sorted(self._slot_variables.items()):
            for i, (made, _) in enumerate(slots.values()):
                named[f"{name}/{i}"] = made
        return named

    def minimize(self, loss, var_list: Any, tape: GradientTape | None = None) -> Variable:
        """A step down the gradient of `loss`, a function without arguments (or a tensor, with the
        tape that saw it), by variables (or a function that lists them). Returns `iterations`."""
        if callable(loss):
            with GradientTape() as tape:
                loss = user_code(loss)()
        elif tape is None and _gyre.current_graph() is None:
            raise ValueError("minimize needs the tape where the loss is a tensor.")
        if callable(var_list):
            var_list = var_list()
        var_list = list(var_list)
        tape = GradientTape() if tape is None else tape
        return self.apply_gradients(zip(tape.gradient(loss, var_list), var_list, strict=True))

    def apply_gradients(self, grads_and_vars, name: str | None = None) -> Variable:
        """A step with pairs (gradient, variable); pairs with None are passed over. Gradients may be
        IndexedSlices. In a replica of a strategy, the step is one with the sums of all replicas'
        gradients. Returns `iterations`, after the step.

        ValueError: no gradient at all, a variable twice, a gradient of another dtype. TypeError:
        no pairs.
        """
        del name
        pairs = [(g, v) for g, v in map(_pair, grads_and_vars) if g is not None]
        if not pairs:
            raise ValueError("No gradients were given for any variable.")
        if len({v.handle.id for _, v in pairs}) != len(pairs):
            raise ValueError("A variable was given twice.")
        for gradient, variable in pairs:
            if gradient.dtype != variable.dtype:
                raise ValueError(
                    f"The gradient of {variable.name!r} is of dtype {gradient.dtype.name}, "
                    f"not {variable.dtype.name}."
                )
            self._rule.check(variable._name, variable.dtype)
        replica = context.replica()
        if replica is None or replica.num_replicas_in_sync == 1:
            return self._apply(pairs)
        return replica.apply_gradients(pairs, self._apply)

    def _apply(self, pairs: list) -> Variable:
        """A step with sound pairs."""
        self.build(v for _, v in pairs)
        kinds = list(dict.fromkeys(v.dtype for _, v in pairs))
        numbers = self._rule.numbers(self.iterations, self._current_rate(), kinds)
        of_kind = dict(zip(kinds, numbers, strict=True))
        for gradient, variable in pairs:
            self._update(gradient, variable, of_kind[variable.dtype])
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable.read_value()))
        return self.iterations.assign_add(1)

    def _update(self, gradient, variable: Variable, numbers: list) -> None:
        """Changes one variable and its slots. `numbers`: of its dtype."""
        slots = [resource(self.slot(name, variable)) for name in self._slots]
        self._rule.apply(resource(variable), slots, numbers, convert_to_tensor(gradient))


def _pair(item) -> tuple:
    """An item of grads_and_vars, if it is a pair of these."""
    try:
        gradient, variable = item
    except (TypeError, ValueError):
        raise TypeError(
            "apply_gradients takes pairs (gradient, variable), say zip(gradients, variables), not "
            f"a {type(item).__name__}"
        ) from None
    if isinstance(variable, Variable):
        return gradient, variable
    turned = isinstance(gradient, Variable)
    raise TypeError(
        f"apply_gradients takes pairs (gradient, variable), but the second of a pair is a "
        f"{type(variable).__name__}"
        + (", and the first the variable: turn them round" if turned else "")
    )


def resource(variable: Variable):
    """The handle of a variable for an op that changes it."""
    graph = _gyre.current_graph()
    if graph is None:
        return variable.handle
    return graph.variable(variable.handle, variable.dtype, variable._dims)


def is_sparse(gradient) -> bool:
    """Whether it is IndexedSlices."""
    return not isinstance(gradient, _gyre.Tensor) and hasattr(gradient, "indices")
