"""What optimizers have of this backend."""

from keras.src.optimizers import base_optimizer

import gyre


class Optimizer(base_optimizer.BaseOptimizer):
    """Updates variables by ops on them. Gradients of rows are added up to whole ones first."""

    def apply(self, grads, trainable_variables=None):
        grads = [
            gyre.convert_to_tensor(one) if isinstance(one, gyre.IndexedSlices) else one
            for one in grads
        ]
        return super().apply(grads, trainable_variables)
