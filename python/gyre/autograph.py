"""Plain Python control flow as part of graphs: what `gyre.function` does to the functions it is
given.

`if`, `while`, `for`, `break`, `continue`, `return`, `and`, `or`, `not`, `assert`, `print` and
appended lists become parts of the graph where they depend on tensors, and stay Python where they do
not.
"""

import types as _types

from gyre._impl.autograph.api import convert, do_not_convert, to_code, to_graph
from gyre._impl.autograph.options import Feature, set_loop_options

experimental = _types.ModuleType(
    "gyre.autograph.experimental", "Names of gyre.autograph, once more."
)
vars(experimental).update(
    Feature=Feature, do_not_convert=do_not_convert, set_loop_options=set_loop_options
)

__all__ = [
    "Feature",
    "convert",
    "do_not_convert",
    "experimental",
    "set_loop_options",
    "to_code",
    "to_graph",
]
