"""Layers: modules with variables, made when the first input tells their sizes."""

import sys
from collections.abc import Callable

from gyre import _gyre
from gyre._impl.convert import call, convert_to_tensor, dims_tensor, is_value
from gyre._impl.dtypes import DTypeLike
from gyre._impl.module import Module
from gyre._impl.ops import table
from gyre._impl.ops.linalg import tensordot
from gyre._impl.tracing.user_code import user_code
from gyre._impl.variable import Variable
from gyre.nn import functional, initializers


def find_activation(value):
    """An activation by name, or as it is; None is the identity. ValueError for unknown names."""
    if value is None or callable(value):
        return value
    if value == "linear":
        return None
    found = getattr(sys.modules["gyre.nn"], str(value), None)
    if found is None:
        raise ValueError(f"No activation {value!r}.")
    return found


class Layer(Module):
    """A module that is called with a tensor. `build(dims)` makes its variables, once, when it is
    first called (also while a function is traced); subclasses define it and `call`."""

    def __init__(
        self, name: str | None = None, dtype: DTypeLike = "float32", trainable: bool = True
    ):
        super().__init__(name)
        self._dtype = _gyre.as_dtype(dtype)
        self._trainable = trainable
        self.built = False

    def build(self, dims: tuple[int | None, ...] | None) -> None:
        """Makes the variables for inputs of this shape."""

    def call(self, inputs, **kwargs):
        """The result of an input."""
        raise NotImplementedError

    def add_weight(
        self, name: str, shape, initializer: str | Callable = "glorot_uniform", trainable=None
    ) -> Variable:
        """A variable of the layer, of its dtype."""
        make = initializers.get(initializer)
        trainable = self._trainable if trainable is None else trainable
        return Variable(
            lambda: make(shape, self._dtype),
            trainable,
            name=f"{self.name}/{name}",
            dtype=self._dtype,
        )

    def _size_of_last(self, dims) -> int:
        if not dims or dims[-1] is None:
            raise ValueError(
                f"{type(self).__name__} {self.name!r} needs an input whose last dimension "
                f"is known, got shape {dims}."
            )
        return dims[-1]

    def __call__(self, inputs, **kwargs):
        inputs = convert_to_tensor(inputs, dtype_hint=self._dtype)
        if not self.built:
            self.build(inputs._dims)
            self.built = True
        with self.name_scope:
            return user_code(self.call)(inputs, **kwargs)


def affine(x, kernel, bias=None):
    """x @ kernel + bias along the last dimension of x: [..., n] and [n, m] give [..., m]."""
    if x._dims is not None and len(x._dims) == 2:
        product = call("MatMul", x, kernel)
    else:
        product = tensordot(x, kernel, 1)
    return product if bias is None else call("BiasAdd", product, bias)


class Dense(Layer):
    """activation(x @ kernel + bias): [..., n] gives [..., units]."""

    def __init__(
        self,
        units: int,
        activation=None,
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        name=None,
        dtype: DTypeLike = "float32",
        trainable=True,
    ):
        super().__init__(name, dtype, trainable)
        if units <= 0:
            raise ValueError(f"Dense needs a positive number of units, got {units}.")
        self.units, self.use_bias = units, use_bias
        self.activation = find_activation(activation)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self.kernel = self.bias = None

    def build(self, dims):
        self.kernel = self.add_weight(
            "kernel", [self._size_of_last(dims), self.units], self._kernel_initializer
        )
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], self._bias_initializer)

    def call(self, inputs):
        result = affine(inputs, self.kernel, self.bias)
        return result if self.activation is None else self.activation(result)


class Embedding(Layer):
    """Rows of a table by id: [...] of integers gives [..., output_dim]."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer="random_uniform",
        mask_zero: bool = False,
        name=None,
        dtype: DTypeLike = "float32",
        trainable=True,
    ):
        super().__init__(name, dtype, trainable)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self._initializer = embeddings_initializer
        self.embeddings = None

    def build(self, dims):
        self.embeddings = self.add_weight(
            "embeddings", [self.input_dim, self.output_dim], self._initializer
        )

    def __call__(self, inputs, **kwargs):
        ids = inputs if is_value(inputs) else convert_to_tensor(inputs, dtype_hint="int32")
        return super().__call__(ids, **kwargs)

    def call(self, inputs):
        return self.embeddings.sparse_read(inputs)

    def compute_mask(self, inputs):
        """Where ids are not 0, if mask_zero; else None."""
        return call("NotEqual", convert_to_tensor(inputs), 0) if self.mask_zero else None


class LayerNorm(Layer):
    """(x - mean) / √(variance + ε) · gamma + beta, of the last dimension (or dimensions `axis`).

    Source: Ba et al., Layer normalization (2016).
    """

    def __init__(
        self,
        axis=-1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        name=None,
        dtype: DTypeLike = "float32",
        trainable=True,
    ):
        super().__init__(name, dtype, trainable)
        self._axes = [axis] if isinstance(axis, int) else list(axis)
        self.epsilon, self._center, self._scale = epsilon, center, scale
        self.gamma = self.beta = None

    def build(self, dims):
        if dims is None or any(dims[a] is None for a in self._axes):
            raise ValueError("LayerNorm needs to know the sizes that it normalises.")
        axes = sorted(a % len(dims) for a in self._axes)
        shape = [dims[a] for a in axes]
        if axes != list(range(len(dims) - len(axes), len(dims))):
            shape = [d if i in axes else 1 for i, d in enumerate(dims)]
        if self._scale:
            self.gamma = self.add_weight("gamma", shape, "ones")
        if self._center:
            self.beta = self.add_weight("beta", shape, "zeros")

    def call(self, inputs):
        mean, variance = table.moments(inputs, self._axes, keepdims=True)
        return table.batch_normalization(
            inputs, mean, variance, self.beta, self.gamma, self.epsilon
        )


class Dropout(Layer):
    """While training, dropout of a rate; otherwise the identity."""

    def __init__(self, rate: float, noise_shape=None, seed=None, name=None):
        super().__init__(name)
        if not 0 <= rate < 1:
            raise ValueError(f"Dropout's rate must be in [0, 1), got {rate}.")
        self.rate, self._noise_shape, self._seed = rate, noise_shape, seed

    def call(self, inputs, training: bool = False):
        if not training:
            return inputs
        return functional.dropout(inputs, self.rate, self._noise_shape, self._seed)


class Flatten(Layer):
    """[batch, …] gives [batch, n]."""

    def call(self, inputs):
        rows = call("StridedSlice", call("Shape", inputs), [0], [1], [1])
        if inputs._dims is not None and None not in inputs._dims[1:]:
            width = 1
            for size in inputs._dims[1:]:
                width *= size
            return call("Reshape", inputs, call("ConcatV2", [rows, dims_tensor([width])], 0))
        return call("Reshape", inputs, call("ConcatV2", [rows, dims_tensor([-1])], 0))


class Sequential(Module):
    """Layers, or any functions, one after the other. `training` goes to those that take it."""

    def __init__(self, layers=(), name: str | None = None):
        super().__init__(name)
        self.layers = list(layers)

    def add(self, layer) -> None:
        """One more layer at the end."""
        self.layers.append(layer)

    def __call__(self, inputs, training: bool = False):
        for layer in self.layers:
            run = user_code(layer)
            takes = isinstance(layer, (Dropout, Sequential))
            inputs = run(inputs, training=training) if takes else run(inputs)
        return inputs
