"""Adam."""

from gyre import _gyre
from gyre.optimizers.optimizer import Optimizer


class Adam(Optimizer):
    """Adam, of variables of float32 and float64. At step t = 1, 2, … with gradient g and rate r:

        m := β1 m + (1 - β1) g
        v := β2 v + (1 - β2) g²
        w := w - r (m / (1 - β1^t)) / (√(v / (1 - β2^t)) + ε)

    Source: Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 1, as in
    include/gyre/training.h; β^t in float64. IndexedSlices count as the dense gradient that they
    stand for. ValueError for a beta outside of [0, 1) and an epsilon that is negative.
    """

    def __init__(
        self,
        learning_rate=1e-3,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        name: str = "adam",
        **others,
    ):
        rule = _gyre.OptimizerRule.adam(beta_1, beta_2, epsilon)
        super().__init__(learning_rate, name, others, rule)
