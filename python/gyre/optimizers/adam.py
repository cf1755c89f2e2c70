"""Adam."""

import math

from gyre import _gyre
from gyre._impl.convert import call
from gyre.optimizers.optimizer import Optimizer, dense, resource


class Adam(Optimizer):
    """Adam, of variables of float32 and float64. At step t = 1, 2, … with gradient g and rate r:

        m := β1 m + (1 - β1) g
        v := β2 v + (1 - β2) g²
        w := w - r (m / (1 - β1^t)) / (√(v / (1 - β2^t)) + ε)

    Source: Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 1, as in
    include/gyre/training.h; β^t in float64. IndexedSlices count as the dense gradient that they
    stand for. ValueError for a beta outside of [0, 1) and an epsilon that is negative.
    """

    _slots = ("adam_m", "adam_v")

    def __init__(
        self,
        learning_rate=1e-3,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        name: str = "adam",
        **others,
    ):
        super().__init__(learning_rate, name, others)
        for beta in (beta_1, beta_2):
            if not 0 <= beta < 1:
                raise ValueError(f"Adam's betas must be in [0, 1), got {beta}.")
        if not math.isfinite(epsilon) or epsilon < 0:
            raise ValueError(f"epsilon must be at least 0, got {epsilon}.")
        self._beta_1, self._beta_2, self._epsilon = beta_1, beta_2, epsilon

    def _shared(self):
        """β1^t, β2^t, and ε √(1 - β2^t): the op adds its ε to √v before the correction."""
        double = _gyre.as_dtype("float64")
        t = call("AddV2", call("Cast", self.iterations, DstT=double), 1.0)
        power_1 = call("Pow", _gyre.convert(self._beta_1, double), t)
        power_2 = call("Pow", _gyre.convert(self._beta_2, double), t)
        epsilon = call("Mul", call("Sqrt", call("Sub", 1.0, power_2)), self._epsilon)
        return power_1, power_2, epsilon

    def _update(self, gradient, variable, rate, shared):
        if variable.dtype.name not in ("float32", "float64"):
            raise ValueError(
                f"Adam trains float32 and float64; {variable.name!r} is of dtype "
                f"{variable.dtype.name}."
            )
        power_1, power_2, epsilon = (call("Cast", x, DstT=variable.dtype) for x in shared)
        betas = [_gyre.convert(b, variable.dtype) for b in (self._beta_1, self._beta_2)]
        m, v = (self.slot(name, variable) for name in self._slots)
        _gyre.execute(
            "ResourceApplyAdam",
            [
                resource(variable),
                resource(m),
                resource(v),
                power_1,
                power_2,
                rate,
                *betas,
                epsilon,
                dense(gradient),
            ],
            {"T": variable.dtype},
        )
