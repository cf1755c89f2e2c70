"""Schedules: functions from the number of steps taken before to the learning rate, in float64."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.ops import table


def _double(value):
    value = convert_to_tensor(value, dtype_hint="float64")
    return call("Cast", value, DstT=_gyre.as_dtype("float64"))


class Schedule:
    """`schedule(step)` is the rate, a float64 scalar."""

    def __call__(self, step) -> Tensor:
        raise NotImplementedError


class ExponentialDecay(Schedule):
    """r · decay_rate^(step / decay_steps); with staircase the exponent is rounded down."""

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False):
        self._rate, self._steps = initial_learning_rate, decay_steps
        self._decay, self._staircase = decay_rate, staircase

    def __call__(self, step) -> Tensor:
        rate = _double(self._rate)
        return table.exponential_decay(rate, step, self._steps, self._decay, self._staircase)


class InverseTimeDecay(Schedule):
    """r / (1 + decay_rate · step / decay_steps); with staircase the quotient is rounded down."""

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False):
        self._rate, self._steps = initial_learning_rate, decay_steps
        self._decay, self._staircase = decay_rate, staircase

    def __call__(self, step) -> Tensor:
        rate = _double(self._rate)
        return table.inverse_time_decay(rate, step, self._steps, self._decay, self._staircase)


class PiecewiseConstantDecay(Schedule):
    """values[i] up to and including step boundaries[i]; the last value after all of them."""

    def __init__(self, boundaries, values):
        if len(values) != len(boundaries) + 1:
            raise ValueError(
                f"{len(boundaries)} boundaries need one value more, got {len(values)}."
            )
        self._boundaries, self._values = list(boundaries), [float(v) for v in values]

    def __call__(self, step) -> Tensor:
        rate = _double(self._values[-1])
        for boundary, value in reversed(
            list(zip(self._boundaries, self._values[:-1], strict=True))
        ):
            rate = call(
                "SelectV2", call("LessEqual", _double(step), float(boundary)), _double(value), rate
            )
        return rate


class PolynomialDecay(Schedule):
    """(r - end) · (1 - step / decay_steps)^power + end, and end after decay_steps."""

    def __init__(self, initial_learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0):
        self._rate, self._steps = initial_learning_rate, decay_steps
        self._end, self._power = end_learning_rate, power

    def __call__(self, step) -> Tensor:
        rate = _double(self._rate)
        return table.polynomial_decay(rate, step, self._steps, self._end, self._power)


class CosineDecay(Schedule):
    """r · ((1 - alpha) (1 + cos(π step / decay_steps)) / 2 + alpha); r · alpha after decay_steps.
    Source: Loshchilov and Hutter, SGDR (2016)."""

    def __init__(self, initial_learning_rate, decay_steps, alpha=0.0):
        self._rate, self._steps, self._alpha = initial_learning_rate, decay_steps, alpha

    def __call__(self, step) -> Tensor:
        return table.cosine_decay(_double(self._rate), step, self._steps, self._alpha)


class Warmup(Schedule):
    """Grows in even steps from 0 to what `after` (a number or a schedule of the steps that follow)
    begins with, reached at step `steps`; then `after`."""

    def __init__(self, after, steps: int):
        self._after, self._steps = after, steps

    def _later(self, step):
        return _double(self._after(step) if callable(self._after) else self._after)

    def __call__(self, step) -> Tensor:
        step = _double(step)
        later = self._later(call("Maximum", call("Sub", step, float(self._steps)), 0.0))
        part = call("Minimum", call("RealDiv", step, float(self._steps)), 1.0)
        return call("Mul", later, part)
