"""nn.rnn_cell: one step of a recurrent network, from inputs and a state to outputs and the next
state."""

from typing import Any, NamedTuple

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.compat.v1.initializers import constant_initializer, zeros_initializer
from gyre._impl.compat.v1.layer import Layer
from gyre._impl.compat.v1.random import random_uniform
from gyre._impl.compat.v1.variable_scope import variable_scope
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre._impl.graphs.graph import device
from gyre._impl.ops import table
from gyre._impl.shape import TensorShape


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: c, what it remembers, and h, what it last gave out."""

    c: Any
    h: Any

    @property
    def dtype(self):
        """Of both."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class RNNCell(Layer):
    """One step: `cell(inputs, state)` gives (output, next state). inputs: [batch, size]; sizes of
    states and outputs, without the batch, in state_size and output_size, structured as these."""

    @property
    def state_size(self):
        """The size of the state, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size, dtype):
        """Zeros for a batch: [batch, size] for each size."""

        def zeros(size):
            sizes = TensorShape(size).as_list()
            return table.zeros([batch_size, *sizes], dtype)

        return nest.map_structure(zeros, self.state_size)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Zeros for a batch, whose size and dtype inputs tell if they are not given."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs)
            batch_size = call("GatherV2", call("Shape", inputs), 0, 0)
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype cannot be None while constructing initial state")
        return self.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        return super().__call__(inputs, state, scope=scope)


def _activation(given, default="tanh"):
    """A function of a tensor, by name or as it is."""
    if given is None:
        given = default
    if callable(given):
        return given
    op = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid", "linear": "Identity"}.get(given)
    if op is None:
        raise ValueError(f"no activation is called {given!r}; give a function")
    return lambda x: call(op, x)


def _input_size(shape) -> int:
    if shape is None or shape[-1] is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {TensorShape(shape)}")
    return shape[-1]


def _affine(parts: list, kernel, bias):
    joined = parts[0] if len(parts) == 1 else call("ConcatV2", parts, 1)
    product = call("MatMul", joined, kernel.read_value())
    return product if bias is None else call("BiasAdd", product, bias.read_value())


class BasicRNNCell(RNNCell):
    """output = state = activation([inputs, state] W + b).
    Source: Elman, Finding structure in time (1990)."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(name, "basic_rnn_cell", reuse, dtype, **kwargs)
        self._num_units, self._activation = num_units, _activation(activation)

    state_size = output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape):
        """Makes the kernel and the bias."""
        self._kernel = self.add_variable(
            "kernel", [_input_size(shape) + self._num_units, self._num_units]
        )
        self._bias = self.add_variable("bias", [self._num_units], zeros_initializer())

    def call(self, inputs, state):
        """One step."""
        output = self._activation(_affine([inputs, state], self._kernel, self._bias))
        return output, output


class GRUCell(RNNCell):
    """r, u = σ([inputs, state] W + b); c = activation([inputs, r · state] W' + b'); state = u ·
    state + (1 - u) · c. Source: Cho et al., Learning phrase representations (2014)."""

    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(name, "gru_cell", reuse, dtype, **kwargs)
        self._num_units, self._activation = num_units, _activation(activation)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    state_size = output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape):
        """Makes kernels and biases."""
        units, size = self._num_units, _input_size(shape) + self._num_units
        self._gate_kernel = self.add_variable(
            "gates/kernel", [size, 2 * units], self._kernel_initializer
        )
        self._gate_bias = self.add_variable(
            "gates/bias", [2 * units], self._bias_initializer or constant_initializer(1.0)
        )
        self._candidate_kernel = self.add_variable(
            "candidate/kernel", [size, units], self._kernel_initializer
        )
        self._candidate_bias = self.add_variable(
            "candidate/bias", [units], self._bias_initializer or zeros_initializer()
        )

    def call(self, inputs, state):
        """One step."""
        gates = call("Sigmoid", _affine([inputs, state], self._gate_kernel, self._gate_bias))
        r, u = calls("Split", 1, gates, num_split=2)
        candidate = self._activation(
            _affine([inputs, call("Mul", r, state)], self._candidate_kernel, self._candidate_bias)
        )
        rest = call("Sub", _gyre.convert(1, u.dtype), u)
        new = call("AddV2", call("Mul", u, state), call("Mul", rest, candidate))
        return new, new


class BasicLSTMCell(RNNCell):
    """i, j, f, o = [inputs, h] W + b; c = σ(f + forget_bias) c + σ(i) activation(j); h =
    activation(c) σ(o). Without state_is_tuple the state is c and h, joined.

    Source: Zaremba, Sutskever and Vinyals, Recurrent neural network regularization (2014).
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(name, "basic_lstm_cell", reuse, dtype, **kwargs)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._state_is_tuple, self._activation = state_is_tuple, _activation(activation)

    @property
    def state_size(self):
        """The number of units, of c and of h."""
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape):
        """Makes the kernel and the bias."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", [_input_size(shape) + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], zeros_initializer())

    def call(self, inputs, state):
        """One step."""
        c, h = state if self._state_is_tuple else calls("Split", 1, state, num_split=2)
        i, j, f, o = calls("Split", 1, _affine([inputs, h], self._kernel, self._bias), num_split=4)
        forget = call("Sigmoid", call("AddV2", f, _gyre.convert(self._forget_bias, f.dtype)))
        new_c = call(
            "AddV2", call("Mul", c, forget), call("Mul", call("Sigmoid", i), self._activation(j))
        )
        new_h = call("Mul", self._activation(new_c), call("Sigmoid", o))
        state = (
            LSTMStateTuple(new_c, new_h)
            if self._state_is_tuple
            else call("ConcatV2", [new_c, new_h], 1)
        )
        return new_h, state


class LSTMCell(RNNCell):
    """As BasicLSTMCell; gates may look at c (use_peepholes), c may be kept within ±cell_clip, and h
    may be a projection of num_proj units (within ±proj_clip).

    Sources: Hochreiter and Schmidhuber (1997); Sak, Senior and Beaufays, Long short-term memory
    recurrent neural network architectures for large scale acoustic modeling (2014).
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        if num_unit_shards or num_proj_shards:
            raise NotImplementedError(
                "variables are not partitioned: leave out num_unit_shards and num_proj_shards"
            )
        super().__init__(name, "lstm_cell", reuse, dtype, **kwargs)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self):
        """The number of units of c, and of what is given out."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(
        lambda self: self._num_proj or self._num_units,
        doc="The number of units that are given out.",
    )

    def build(self, shape):
        """Makes kernel, bias and, where asked for, peepholes and projection."""
        units, add = self._num_units, self.add_variable
        self._kernel = add(
            "kernel", [_input_size(shape) + self.output_size, 4 * units], self._initializer
        )
        self._bias = add("bias", [4 * units], zeros_initializer())
        if self._use_peepholes:
            self._w_f, self._w_i, self._w_o = (
                add(f"w_{gate}_diag", [units], self._initializer) for gate in "fio"
            )
        if self._num_proj:
            with variable_scope("projection"):
                self._projection = add("kernel", [units, self._num_proj], self._initializer)

    def _gate(self, x, peephole, c):
        if self._use_peepholes:
            x = call("AddV2", x, call("Mul", peephole.read_value(), c))
        return call("Sigmoid", x)

    def call(self, inputs, state):
        """One step."""
        if self._state_is_tuple:
            c, h = state
        else:
            sizes = [self._num_units, self.output_size]
            c, h = calls("SplitV", state, sizes, 1, num_split=2)
        i, j, f, o = calls("Split", 1, _affine([inputs, h], self._kernel, self._bias), num_split=4)
        peepholes = (self._w_f, self._w_i, self._w_o) if self._use_peepholes else (None, None, None)
        forget = self._gate(
            call("AddV2", f, _gyre.convert(self._forget_bias, f.dtype)), peepholes[0], c
        )
        c = call(
            "AddV2",
            call("Mul", forget, c),
            call("Mul", self._gate(i, peepholes[1], c), self._activation(j)),
        )
        c = _clipped(c, self._cell_clip)
        h = call("Mul", self._gate(o, peepholes[2], c), self._activation(c))
        if self._num_proj:
            h = _clipped(call("MatMul", h, self._projection.read_value()), self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else call("ConcatV2", [c, h], 1)


def _clipped(x, limit):
    if limit is None:
        return x
    low, high = (_gyre.convert(v, x.dtype) for v in (-limit, limit))
    return call("Maximum", call("Minimum", x, high), low)


class MultiRNNCell(RNNCell):
    """Cells one above the other: each takes what the one below gives out. The state is a tuple of
    theirs (without state_is_tuple: joined)."""

    def __init__(self, cells, state_is_tuple=True, name=None):
        super().__init__(name, "multi_rnn_cell")
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set."
            )

    @property
    def state_size(self):
        """The sizes of the cells' states."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(
        lambda self: self._cells[-1].output_size, doc="That of the uppermost cell."
    )

    @property
    def trainable_variables(self):
        """Those of the cells."""
        return [v for cell in self._cells for v in cell.trainable_variables]

    @property
    def variables(self):
        """Those of the cells."""
        return [v for cell in self._cells for v in cell.variables]

    def zero_state(self, batch_size, dtype):
        """Zeros for a batch, of each cell."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs, state):
        """One step of each."""
        at, states = 0, []
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    own = state[i]
                else:
                    own = state[:, at : at + cell.state_size]
                    at += cell.state_size
                inputs, own = cell(inputs, own)
                states.append(own)
        return inputs, tuple(states) if self._state_is_tuple else call("ConcatV2", states, 1)


class _Wrapper(RNNCell):
    """A cell around another."""

    def __init__(self, cell, default_name: str):
        super().__init__(None, default_name)
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size, doc="That of the cell.")
    output_size = property(lambda self: self._cell.output_size, doc="That of the cell.")
    variables = property(lambda self: self._cell.variables, doc="Those of the cell.")
    trainable_variables = property(
        lambda self: self._cell.trainable_variables, doc="Those of the cell."
    )

    def zero_state(self, batch_size, dtype):
        """Zeros for a batch."""
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        return self.call(inputs, state, scope)


class DropoutWrapper(_Wrapper):
    """A cell whose inputs, outputs and states are set to 0 with probability 1 - keep_prob each, the
    others divided by keep_prob. A keep_prob is a number or a tensor; 1.0 means no dropout. What an
    LSTM remembers (c) is never dropped.

    Source: Zaremba, Sutskever and Vinyals, Recurrent neural network regularization (2014).
    """

    def __init__(
        self,
        cell,
        input_keep_prob=1.0,
        output_keep_prob=1.0,
        state_keep_prob=1.0,
        variational_recurrent=False,
        input_size=None,
        dtype=None,
        seed=None,
        dropout_state_filter_visitor=None,
    ):
        if variational_recurrent:
            raise NotImplementedError(
                "variational_recurrent=True is not supported: masks are drawn in each step"
            )
        super().__init__(cell, "dropout_wrapper")
        del input_size, dtype
        for what, keep in (
            ("input", input_keep_prob),
            ("output", output_keep_prob),
            ("state", state_keep_prob),
        ):
            if isinstance(keep, (int, float)) and not 0 < keep <= 1:
                raise ValueError(f"Parameter {what}_keep_prob must be between 0 and 1: {keep}")
        self._keep = {
            "input": input_keep_prob,
            "output": output_keep_prob,
            "state": state_keep_prob,
        }
        self._seed, self._filter = seed, dropout_state_filter_visitor

    def _dropped(self, x, what: str):
        keep = self._keep[what]
        if isinstance(keep, (int, float)) and keep >= 1:
            return x
        keep = convert_to_tensor(keep, x.dtype)
        drawn = random_uniform(call("Shape", x), dtype=x.dtype, seed=self._seed)
        kept = call("Cast", call("Less", drawn, keep), DstT=x.dtype)
        return call("Mul", call("RealDiv", x, keep), kept)

    def _dropped_state(self, state):
        if isinstance(state, LSTMStateTuple):
            return LSTMStateTuple(state.c, self._dropped(state.h, "state"))
        if isinstance(state, (tuple, list)):
            return type(state)(self._dropped_state(part) for part in state)
        return self._dropped(state, "state")

    def call(self, inputs, state, scope=None):
        """One step."""
        output, state = self._cell(self._dropped(inputs, "input"), state, scope)
        return self._dropped(output, "output"), self._dropped_state(state)


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs. residual_fn(inputs, outputs): another sum."""

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell, "residual_wrapper")
        self._residual_fn = residual_fn

    def call(self, inputs, state, scope=None):
        """One step."""
        output, state = self._cell(inputs, state, scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), state
        return nest.map_structure(lambda x, y: call("AddV2", x, y), inputs, output), state


class DeviceWrapper(_Wrapper):
    """A cell whose operations ask for a device."""

    def __init__(self, cell, device):
        super().__init__(cell, "device_wrapper")
        self._device = device

    def call(self, inputs, state, scope=None):
        """One step."""
        with device(self._device):
            return self._cell(inputs, state, scope)
