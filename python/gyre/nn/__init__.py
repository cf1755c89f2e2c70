"""Neural networks: functions (relu, softmax, …), layers (Dense, LSTM, …), losses, initializers."""

import sys as _sys

from gyre._impl import facade as _facade

_facade.namespace("nn", _sys.modules[__name__])
