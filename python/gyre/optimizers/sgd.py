"""Stochastic gradient descent."""

from gyre import _gyre
from gyre._impl.convert import call
from gyre.optimizers.optimizer import Optimizer, is_sparse, resource


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
        rule = _gyre.OptimizerRule.sgd(momentum, nesterov)
        super().__init__(learning_rate, name, others, rule)

    def _update(self, gradient, variable, numbers):
        if not self._slots and is_sparse(gradient):
            rows = call("Mul", gradient.values, *numbers)
            _gyre.execute(
                "ResourceScatterSub",
                [resource(variable), gradient.indices, rows],
                {"dtype": variable.dtype},
            )
        else:
            super()._update(gradient, variable, numbers)
