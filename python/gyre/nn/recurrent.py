"""Recurrent layers: LSTM and GRU over time, for sequences of different lengths.

Eagerly the loop over time is Python's; in a graph it is one of the core, so the number of steps
need not be known.
"""

from gyre import _gyre
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import table
from gyre._impl.tracing.user_code import user_code
from gyre.nn.layers import Layer, find_activation


class Cell(Layer):
    """One step: `cell(x, states)` gives (output, new states). Sizes of states in `state_sizes`. A
    cell of one state also takes it without a list, and then gives it so."""

    state_sizes: tuple[int, ...] = ()
    units: int

    def step(self, inputs, states: list) -> tuple:
        """The output of one step, and the states after it."""
        raise NotImplementedError

    def initial_states(self, batch) -> list:
        """Zeros, [batch, size] for each state."""
        return [
            table.zeros(call("Pack", [batch, _gyre.convert(size)]), self._dtype)
            for size in self.state_sizes
        ]

    def __call__(self, inputs, states):
        inputs = convert_to_tensor(inputs)
        self.prepare(inputs._dims)
        single = len(self.state_sizes) == 1 and not isinstance(states, (list, tuple))
        states = [states] if single else list(states)
        if len(states) != len(self.state_sizes):
            raise ValueError(
                f"{type(self).__name__} takes {len(self.state_sizes)} states in a list, but was "
                f"given {len(states)}"
            )
        output, states = user_code(self.step)(inputs, states)
        return output, states[0] if single else states

    def prepare(self, dims) -> None:
        """Makes the variables, once."""
        if not self.built:
            self.build(dims)
            self.built = True


class LSTMCell(Cell):
    """One step of an LSTM: states h, c of [batch, units]; the output is h.

        i, f, g, o = split(x W + h U + b);  c := σ(f) c + σ(i) tanh(g);  h := σ(o) tanh(c)

    Sources: Hochreiter and Schmidhuber, Long short-term memory (1997); the forget gate's bias of 1:
    Jozefowicz et al., An empirical exploration of recurrent network architectures (2015).
    """

    def __init__(
        self,
        units: int,
        activation="tanh",
        recurrent_activation="sigmoid",
        unit_forget_bias: bool = True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        name=None,
        dtype: DTypeLike = "float32",
        trainable=True,
    ):
        super().__init__(name, dtype, trainable)
        self.units, self._unit_forget_bias = units, unit_forget_bias
        self.state_sizes = (units, units)
        self._activation = find_activation(activation)
        self._gate = find_activation(recurrent_activation)
        self._initializers = kernel_initializer, recurrent_initializer
        self.kernel = self.recurrent_kernel = self.bias = None

    def build(self, dims):
        n = self.units
        self.kernel = self.add_weight(
            "kernel", [self._size_of_last(dims), 4 * n], self._initializers[0]
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [n, 4 * n], self._initializers[1]
        )

        def bias(shape, dtype):
            del shape
            forget = 1.0 if self._unit_forget_bias else 0.0
            return _gyre.tensor([0.0] * n + [forget] * n + [0.0] * 2 * n, dtype)

        self.bias = self.add_weight("bias", [4 * n], bias)

    def step(self, inputs, states):
        h, c = states
        gates = call(
            "AddV2", call("MatMul", inputs, self.kernel), call("MatMul", h, self.recurrent_kernel)
        )
        i, f, g, o = calls("Split", -1, call("BiasAdd", gates, self.bias), num_split=4)
        c = call(
            "AddV2", call("Mul", self._gate(f), c), call("Mul", self._gate(i), self._activation(g))
        )
        h = call("Mul", self._gate(o), self._activation(c))
        return h, [h, c]


class GRUCell(Cell):
    """One step of a GRU: the state h of [batch, units] is the output.

        z, r = σ(x Wz + h Uz + b), σ(x Wr + h Ur + b);  n = tanh(x Wn + bn + r (h Un + b'n))
        h := z h + (1 - z) n

    The reset gate acts after the product, as in cuDNN. Source: Cho et al., Learning phrase
    representations using RNN encoder-decoder (2014).
    """

    def __init__(
        self,
        units: int,
        activation="tanh",
        recurrent_activation="sigmoid",
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        name=None,
        dtype: DTypeLike = "float32",
        trainable=True,
    ):
        super().__init__(name, dtype, trainable)
        self.units = units
        self.state_sizes = (units,)
        self._activation = find_activation(activation)
        self._gate = find_activation(recurrent_activation)
        self._initializers = kernel_initializer, recurrent_initializer
        self.kernel = self.recurrent_kernel = self.bias = self.recurrent_bias = None

    def build(self, dims):
        n = self.units
        self.kernel = self.add_weight(
            "kernel", [self._size_of_last(dims), 3 * n], self._initializers[0]
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [n, 3 * n], self._initializers[1]
        )
        self.bias = self.add_weight("bias", [3 * n], "zeros")
        self.recurrent_bias = self.add_weight("recurrent_bias", [3 * n], "zeros")

    def step(self, inputs, states):
        (h,) = states
        of_x = call("BiasAdd", call("MatMul", inputs, self.kernel), self.bias)
        of_h = call("BiasAdd", call("MatMul", h, self.recurrent_kernel), self.recurrent_bias)
        xz, xr, xn = calls("Split", -1, of_x, num_split=3)
        hz, hr, hn = calls("Split", -1, of_h, num_split=3)
        z, r = self._gate(call("AddV2", xz, hz)), self._gate(call("AddV2", xr, hr))
        n = self._activation(call("AddV2", xn, call("Mul", r, hn)))
        h = call("AddV2", n, call("Mul", z, call("Sub", h, n)))
        return h, [h]


class RNN(Layer):
    """A cell over time: [batch, time, n] gives the last output, [batch, units], or with
    return_sequences all, [batch, time, units]; with return_state also the last states, in a tuple.

    `lengths` ([batch] of integers): after the end of its sequence an example's states stay, and its
    outputs are zeros. `go_backwards`: from the last step to the first. No steps at all give the
    initial state; in a graph the batch must be known for that (InvalidArgumentError).
    """

    def __init__(
        self,
        cell: Cell,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        name: str | None = None,
    ):
        super().__init__(name)
        self.cell = cell
        self._return_sequences, self._return_state = return_sequences, return_state
        self._go_backwards = go_backwards

    def build(self, dims):
        if dims is None or len(dims) != 3:
            raise ValueError(f"{type(self).__name__} needs [batch, time, n], got {dims}.")
        self.cell.prepare(dims)

    def call(self, inputs, initial_state=None, lengths=None):
        rows = call("Transpose", inputs, [1, 0, 2])
        shape = call("Shape", rows)
        time, batch = (call("GatherV2", shape, i, 0) for i in (0, 1))
        states = (
            self.cell.initial_states(batch)
            if initial_state is None
            else [convert_to_tensor(s) for s in initial_state]
        )
        steps = call("Range", 0, time, 1)
        if self._go_backwards:
            rows, steps = call("ReverseV2", rows, [0]), call("ReverseV2", steps, [0])
        if lengths is not None:
            lengths = call("Cast", convert_to_tensor(lengths), DstT=_gyre.as_dtype("int32"))
        outputs, states = self._loop(rows, steps, states, batch, lengths)
        if self._return_sequences:
            result = call("Transpose", outputs, [1, 0, 2])
        else:
            result = states[0]
        return (result, *states) if self._return_state else result

    def _step(self, x, step, states, lengths):
        output, after = user_code(self.cell.step)(x, states)
        if lengths is None:
            return output, after
        running = call("ExpandDims", call("Less", step, lengths), 1)
        after = [
            call("SelectV2", running, new, old) for new, old in zip(after, states, strict=True)
        ]
        return call("SelectV2", running, output, call("ZerosLike", output)), after

    def _loop(self, rows, steps, states, batch, lengths):
        """(outputs [time, batch, units], last states)"""
        if _gyre.current_graph() is None:
            outputs = []
            for x, step in zip(rows, steps, strict=True):
                output, states = self._step(x, step, states, lengths)
                outputs.append(output)
            if not outputs:
                return table.zeros(
                    call("Pack", [_gyre.convert(0), batch, _gyre.convert(self.cell.units)]),
                    self._dtype,
                ), states
            return call("Pack", outputs, axis=0), states
        first = [table.zeros(call("Pack", [batch, _gyre.convert(self.cell.units)]), self._dtype)]

        def body(carried: list, row: list) -> list:
            output, after = self._step(row[0], row[1], list(carried[1:]), lengths)
            return [output, *after]

        kept = _gyre.trace_fold(body, [rows, steps], first + states, keep=True)
        count = call("GatherV2", call("Shape", rows), 0, 0)
        # Of no steps at all, the last states are the first.
        last = [
            call("GatherV2", call("ConcatV2", [call("ExpandDims", s, 0), k], 0), count, 0)
            for s, k in zip(states, kept[1:], strict=True)
        ]
        return kept[0], last


class LSTM(RNN):
    """An LSTM over time; states (h, c). See LSTMCell and RNN."""

    def __init__(
        self,
        units: int,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        name=None,
        **cell,
    ):
        super().__init__(
            LSTMCell(units, **cell), return_sequences, return_state, go_backwards, name
        )


class GRU(RNN):
    """A GRU over time; state (h,). See GRUCell and RNN."""

    def __init__(
        self,
        units: int,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        name=None,
        **cell,
    ):
        super().__init__(GRUCell(units, **cell), return_sequences, return_state, go_backwards, name)
