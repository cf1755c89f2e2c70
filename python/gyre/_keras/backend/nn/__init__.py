"""Functions of neural networks, as `keras.ops` has them."""

from gyre._keras.backend.nn.activations import *  # noqa: F403
from gyre._keras.backend.nn.attention import *  # noqa: F403
from gyre._keras.backend.nn.convolutions import *  # noqa: F403
from gyre._keras.backend.nn.ctc import *  # noqa: F403
from gyre._keras.backend.nn.losses import *  # noqa: F403
from gyre._keras.backend.nn.normalization import *  # noqa: F403
from gyre._keras.backend.nn.patches import *  # noqa: F403
from gyre._keras.backend.nn.pooling import *  # noqa: F403
