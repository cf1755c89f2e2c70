"""The optimizers themselves."""

from gyre import _gyre
from gyre._impl.compat.v1.group import group
from gyre._impl.compat.v1.train.optimizer import Optimizer
from gyre._impl.convert import call
from gyre._impl.graphs.graph import current


def _step(op: str, *inputs, name=None, **attrs):
    """An operation without outputs."""
    _gyre.execute(op, list(inputs), attrs, name or op)
    return current().last_operation()


def _rows(variable, indices):
    return call("ResourceGather", variable.handle, indices, dtype=variable.dtype)


def _set_rows(variable, indices, values):
    return _step("ResourceScatterUpdate", variable.handle, indices, values, dtype=variable.dtype)


def _subtract_rows(variable, indices, values):
    return _step("ResourceScatterSub", variable.handle, indices, values, dtype=variable.dtype)


class _ByRule(Optimizer):
    """An optimizer whose dense step is that of gyre.optimizers, with numbers of its own: values,
    tensors, or functions that give one."""

    def __init__(self, rule, use_locking, name, **numbers):
        super().__init__(use_locking, name)
        self._rule, self._values = rule, numbers

    def _create_slots(self, variables):
        for variable in variables:
            for name in self._rule.slots:
                self._slot(variable, name)

    def _numbers(self, variable):
        return [
            self._number(self._values[name], variable.dtype, name)
            for name in self._rule.number_names
        ]

    def _apply_dense(self, gradient, variable):
        numbers = self._numbers(variable)
        slots = [self.get_slot(variable, name).handle for name in self._rule.slots]
        self._rule.apply(variable.handle, slots, numbers, gradient, self._rule.op)
        return current().last_operation()


class GradientDescentOptimizer(_ByRule):
    """variable -= learning_rate · gradient. The rate is a number, a tensor,
    or a function that gives one."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        rule = _gyre.OptimizerRule.sgd()
        super().__init__(rule, use_locking, name, learning_rate=learning_rate)

    def _apply_sparse(self, slices, variable):
        (rate,) = self._numbers(variable)
        return _subtract_rows(variable, slices.indices, call("Mul", slices.values, rate))


class MomentumOptimizer(_ByRule):
    """accumulation := momentum · accumulation + gradient; variable -= learning_rate · accumulation
    (with use_nesterov, of the accumulation to come). Of IndexedSlices, only their rows change.

    Sources: Polyak (1964); Sutskever et al., On the importance of initialization and momentum
    (2013).
    """

    def __init__(
        self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False
    ):
        self._nesterov = bool(use_nesterov)
        # The momentum may be a tensor: the rule is told that there is one.
        rule = _gyre.OptimizerRule.sgd(momentum=1.0, nesterov=self._nesterov)
        super().__init__(rule, use_locking, name, learning_rate=learning_rate, momentum=momentum)

    def _apply_sparse(self, slices, variable):
        rate, momentum = self._numbers(variable)
        slot = self.get_slot(variable, "momentum")
        accumulated = call(
            "AddV2", call("Mul", _rows(slot, slices.indices), momentum), slices.values
        )
        step = accumulated
        if self._nesterov:
            step = call("AddV2", slices.values, call("Mul", accumulated, momentum))
        return group(
            _set_rows(slot, slices.indices, accumulated),
            _subtract_rows(variable, slices.indices, call("Mul", step, rate)),
        )


class AdamOptimizer(_ByRule):
    """m := β₁ m + (1 - β₁) g; v := β₂ v + (1 - β₂) g²; variable -= learning_rate · √(1 - β₂ᵗ) / (1
    - β₁ᵗ) · m / (√v + ε).

    Source: Kingma and Ba, Adam: a method for stochastic optimization (2015), the form before its
    section 2.1.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        super().__init__(
            _gyre.OptimizerRule.adam(),
            use_locking,
            name,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
        )

    def _create_slots(self, variables):
        first = min(variables, key=lambda v: v.name)
        for beta in ("beta1", "beta2"):
            self._other(f"{beta}_power", self._value(self._values[beta]), first.dtype)
        super()._create_slots(variables)

    @staticmethod
    def _value(number):
        return number() if callable(number) and not isinstance(number, _gyre.Tensor) else number

    def _powers(self):
        """Those of the current graph."""
        return {
            f"{beta}_power": self._others[f"{beta}_power", current()] for beta in ("beta1", "beta2")
        }

    def _numbers(self, variable):
        values = self._values | self._powers()
        return [
            self._number(values[name], variable.dtype, name) for name in self._rule.number_names
        ]

    def _finish(self, updates, name):
        graph = current()
        with graph.control_dependencies(updates):
            grown = [
                power.assign(
                    call("Mul", power.read_value(), self._number(beta, power.dtype, "beta")),
                    read_value=False,
                )
                for power, beta in zip(
                    self._powers().values(),
                    (self._values["beta1"], self._values["beta2"]),
                    strict=True,
                )
            ]
        return group(*updates, *grown, name=name)


class AdagradOptimizer(Optimizer):
    """accumulation += gradient²; variable -= learning_rate · gradient / √accumulation. Of
    IndexedSlices, only their rows change.

    Source: Duchi, Hazan and Singer, Adaptive subgradient methods (2011).
    """

    def __init__(
        self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate, self._first = learning_rate, initial_accumulator_value

    def _create_slots(self, variables):
        for variable in variables:
            self._slot(variable, "accumulator", self._first)

    def _steps(self, gradient, before, variable):
        rate = self._number(self._learning_rate, variable.dtype, "learning_rate")
        after = call("AddV2", before, call("Square", gradient))
        return after, call("Mul", call("Mul", gradient, rate), call("Rsqrt", after))

    def _apply_dense(self, gradient, variable):
        slot = self.get_slot(variable, "accumulator")
        after, step = self._steps(gradient, slot.read_value(), variable)
        return group(
            slot.assign(after, read_value=False), variable.assign_sub(step, read_value=False)
        )

    def _apply_sparse(self, slices, variable):
        slot = self.get_slot(variable, "accumulator")
        after, step = self._steps(slices.values, _rows(slot, slices.indices), variable)
        return group(
            _set_rows(slot, slices.indices, after), _subtract_rows(variable, slices.indices, step)
        )


class RMSPropOptimizer(Optimizer):
    """s := ρ s + (1 - ρ) g²; u := momentum · u + learning_rate · g / √(s + ε); variable -= u. If
    `centered`, the square of the mean gradient is taken off s.

    Source: Tieleman and Hinton, Lecture 6.5 — rmsprop (2012).
    """

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        name="RMSProp",
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered

    def _create_slots(self, variables):
        for variable in variables:
            self._slot(variable, "rms", 1.0)
            if self._centered:
                self._slot(variable, "mg")
            self._slot(variable, "momentum")

    def _apply_dense(self, gradient, variable):
        rate, decay, momentum, epsilon = (
            self._number(value, variable.dtype, name)
            for value, name in (
                (self._learning_rate, "learning_rate"),
                (self._decay, "decay"),
                (self._momentum, "momentum"),
                (self._epsilon, "epsilon"),
            )
        )

        def toward(slot, value):
            before = slot.read_value()
            one = _gyre.convert(1, variable.dtype)
            return call(
                "AddV2", before, call("Mul", call("Sub", value, before), call("Sub", one, decay))
            )

        rms, velocity = (self.get_slot(variable, name) for name in ("rms", "momentum"))
        mean_square = toward(rms, call("Square", gradient))
        spread, writes = mean_square, [rms.assign(mean_square, read_value=False)]
        if self._centered:
            mean = self.get_slot(variable, "mg")
            mean_gradient = toward(mean, gradient)
            spread = call("Sub", mean_square, call("Square", mean_gradient))
            writes.append(mean.assign(mean_gradient, read_value=False))
        scaled = call(
            "Mul", call("Mul", gradient, rate), call("Rsqrt", call("AddV2", spread, epsilon))
        )
        step = call("AddV2", call("Mul", velocity.read_value(), momentum), scaled)
        writes.append(velocity.assign(step, read_value=False))
        return group(*writes, variable.assign_sub(step, read_value=False))
