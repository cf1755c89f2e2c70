"""Optimizers, which change variables so that a loss becomes smaller, and schedules of rates."""

import sys as _sys

from gyre._impl import facade as _facade

_facade.namespace("optimizers", _sys.modules[__name__])
