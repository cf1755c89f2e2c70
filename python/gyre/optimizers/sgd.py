"""Stochastic gradient descent."""

import math

from gyre import _gyre
from gyre._impl.convert import call
from gyre.optimizers.optimizer import Optimizer, dense, is_sparse, resource


class SGD(Optimizer):
    """Stochastic gradient descent. With gradient g and rate r:

        without momentum   w := w - r g
        with momentum µ    a := µ a + g      w := w - r a
        with nesterov      a := µ a + g      w := w - r (g + µ a)

    Sources: Polyak (1964); Sutskever et al. (2013). As in include/gyre/training.h, a is a sum of
    gradients. Rows of IndexedSlices are subtracted alone where there is no momentum.
    ValueError for a momentum that is negative or not finite, and nesterov without one.
    """

    def __init__(
        self,
        learning_rate=0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "sgd",
        **others,
    ):
        super().__init__(learning_rate, name, others)
        if not math.isfinite(momentum) or momentum < 0:
            raise ValueError(f"momentum must be at least 0, got {momentum}.")
        if nesterov and not momentum:
            raise ValueError("nesterov needs a momentum.")
        self._momentum, self._nesterov = momentum, nesterov
        self._slots = ("momentum",) if momentum else ()

    def _update(self, gradient, variable, rate, shared):
        if not self._momentum:
            if is_sparse(gradient):
                rows = call("Mul", gradient.values, rate)
                _gyre.execute(
                    "ResourceScatterSub",
                    [resource(variable), gradient.indices, rows],
                    {"dtype": variable.dtype},
                )
                return
            _gyre.execute(
                "ResourceApplyGradientDescent",
                [resource(variable), rate, dense(gradient)],
                {"T": variable.dtype},
            )
            return
        slot = self.slot("momentum", variable)
        momentum = _gyre.convert(self._momentum, variable.dtype)
        _gyre.execute(
            "ResourceApplyMomentum",
            [resource(variable), resource(slot), rate, dense(gradient), momentum],
            {"T": variable.dtype, "use_nesterov": self._nesterov},
        )
