"""Functions of images, as `keras.ops.image` has them."""

from gyre._keras.backend.image.colors import *  # noqa: F403
from gyre._keras.backend.image.coordinates import *  # noqa: F403
from gyre._keras.backend.image.filters import *  # noqa: F403
from gyre._keras.backend.image.resizing import *  # noqa: F403
