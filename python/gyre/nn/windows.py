"""What the functions of convolutions and poolings take, in the terms of ops."""

from __future__ import annotations

from typing import Any, NamedTuple

from gyre._gyre import Tensor
from gyre._impl.convert import call

# By the number of spatial dimensions: channels last, channels first.
_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
# What ops of one dimension less than two are called with.
_WIDER = {"NWC": "NHWC", "NCW": "NCHW"}


class Layout(NamedTuple):
    """Images of `n` spatial dimensions in a format."""

    n: int
    data_format: str

    @property
    def channels_first(self) -> bool:
        return self.data_format.startswith("NC")

    @property
    def channel_axis(self) -> int:
        return 1 if self.channels_first else self.n + 1

    @property
    def op_format(self) -> str:
        return _WIDER.get(self.data_format, self.data_format)

    def spatial(self, values: list) -> list:
        """Those of the numbers by dimension that are for spatial ones."""
        return values[2:] if self.channels_first else values[1:-1]

    def numbers(self, value, what: str, default: int = 1) -> list[int]:
        """A number for each dimension, those of batch and channels being 1 unless they are given:
        `value` is a number, one for each spatial dimension, or one for each dimension."""
        n = self.n
        values: Any = default if value is None else value
        values = [values] if hasattr(values, "__index__") else list(values)
        if len(values) == 1:
            values = values * n
        if len(values) not in (n, n + 2) or any(int(v) < 1 for v in values):
            wanted = " or ".join(str(k) for k in sorted({1, n, n + 2}))
            raise ValueError(f"{what} must be {wanted} positive numbers, not {value!r}")
        values = [int(v) for v in values]
        if len(values) == n:
            values = [1, 1, *values] if self.channels_first else [1, *values, 1]
        return values

    def steps(self, value, what: str) -> list[int]:
        """The same where those of batch and channels must be 1."""
        values = self.numbers(value, what)
        others = [values[0], values[self.channel_axis]]
        if others != [1, 1]:
            raise ValueError(f"{what} of batch and channels must be 1, but are {others}")
        return values

    def for_op(self, values: list) -> list:
        """Numbers by dimension for the op, whose images have two spatial dimensions or more."""
        if self.n > 1:
            return values
        axis = 2 if self.channels_first else 1
        return [*values[:axis], 1, *values[axis:]]

    def widened(self, x) -> Tensor:
        """Images as the op takes them."""
        if self.n > 1:
            return x
        return call("ExpandDims", x, 2 if self.channels_first else 1)

    def narrowed(self, x, name: str | None = None) -> Tensor:
        """… and back."""
        if self.n > 1:
            return x
        return call("Squeeze", x, squeeze_dims=[2 if self.channels_first else 1], name=name)


def layout(n: int, data_format: str | None) -> Layout:
    """ValueError for formats that images of `n` spatial dimensions do not have."""
    last, first = _FORMATS[n]
    if data_format is None:
        data_format = last
    if n == 1 and data_format in _WIDER.values():  # as older programs say
        data_format = first if data_format == "NCHW" else last
    if data_format not in (last, first):
        raise ValueError(f"data_format must be '{last}' or '{first}', not {data_format!r}")
    return Layout(n, data_format)


class Padding(NamedTuple):
    """ "SAME", "VALID" or "EXPLICIT", with two numbers for each dimension."""

    kind: str
    explicit: list[int]

    def attrs(self) -> dict:
        if self.kind == "EXPLICIT":
            return {"padding": self.kind, "explicit_paddings": self.explicit}
        return {"padding": self.kind}


def padding_of(value, form: Layout) -> Padding:
    """ "SAME", "VALID", or a pair of numbers for each dimension."""
    if isinstance(value, str):
        if value.upper() not in ("SAME", "VALID"):
            raise ValueError(f"padding must be 'VALID', 'SAME' or a list of pairs, not {value!r}")
        return Padding(value.upper(), [])
    pairs = [[int(v) for v in pair] for pair in value]
    if len(pairs) != form.n + 2 or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError(
            f"padding must be 'VALID', 'SAME' or {form.n + 2} pairs of numbers, not {value!r}"
        )
    if pairs[0] != [0, 0] or pairs[form.channel_axis] != [0, 0]:
        raise ValueError(f"padding of batch and channels must be [0, 0], but is {value!r}")
    if form.n == 1:
        pairs.insert(2 if form.channels_first else 1, [0, 0])
    return Padding("EXPLICIT", [v for pair in pairs for v in pair])
