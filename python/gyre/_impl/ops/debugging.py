"""Checks of numbers while a program runs. (Assertions are in control_flow.)"""

from gyre import _gyre
from gyre._impl.convert import call, convert_to_tensor


def check_numerics(tensor, message, name=None):
    """The tensor. InvalidArgumentError, beginning with the message, if it holds NaN or infinity."""
    return call("CheckNumerics", convert_to_tensor(tensor), message=message, name=name)


def is_numeric_tensor(tensor) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, _gyre.Tensor) and tensor.dtype.is_numeric
