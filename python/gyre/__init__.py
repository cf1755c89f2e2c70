"""Gyre: programs on tensors, with control flow as part of them.

Names and their meanings are those that TensorFlow's users know: `gyre.constant`, `gyre.function`,
`gyre.GradientTape`, `gyre.math`, `gyre.nn`, … This module only knows where each name is defined;
what a program does not use is never imported.
"""

import sys as _sys

from gyre import _gyre
from gyre._impl import importing as _importing

_importing.install()

from gyre._impl import facade as _facade  # noqa: E402 (modules are found by what stands above)

_facade.install(_sys.modules[__name__])

__version__ = _gyre.version()
