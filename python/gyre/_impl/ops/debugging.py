"""Checks of numbers while a program runs. (Assertions are in control_flow.)"""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dispatch import takes_composites


@takes_composites
def check_numerics(tensor: TensorLike, message, name: str | None = None) -> Tensor:
    """The tensor. InvalidArgumentError, beginning with the message, if it holds NaN or infinity."""
    return call("CheckNumerics", convert_to_tensor(tensor), message=message, name=name)


def enable_check_numerics(stack_height_limit=30, path_length_limit=50) -> None:
    """From now on, what this thread runs, ops at once and functions alike, fails with an
    InvalidArgumentError at the first op that makes a NaN or an infinity. Of functions it names the
    node, the iterations of loops around it, and its line.

    Constants, and ops that hand on what comes in, are passed over. The limits, which are
    TensorFlow's, mean nothing here. Every result is looked at: it costs time.
    """
    del stack_height_limit, path_length_limit
    _gyre.set_nan_trap(True)


def disable_check_numerics() -> None:
    """Ends what enable_check_numerics began."""
    _gyre.set_nan_trap(False)


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, _gyre.Tensor) and tensor.dtype.is_numeric
