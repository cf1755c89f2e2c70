"""gyre.compat.v1: graphs that are built first and run by sessions, as TensorFlow 1 has them."""

from gyre._impl.compat.v1 import tensor_members

tensor_members.install()
