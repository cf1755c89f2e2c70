"""The functions of NumPy, as `keras.ops` has them."""

from gyre._keras.backend.numpy.creation import *  # noqa: F403
from gyre._keras.backend.numpy.elementwise import *  # noqa: F403
from gyre._keras.backend.numpy.logic import *  # noqa: F403
from gyre._keras.backend.numpy.products import *  # noqa: F403
from gyre._keras.backend.numpy.reductions import *  # noqa: F403
from gyre._keras.backend.numpy.shapes import *  # noqa: F403
from gyre._keras.backend.numpy.sorting import *  # noqa: F403
