"""The layers of Gyre, as a table: who may include whom.

Each row is one step up; the folders of one row do not see each other. `devices` is narrower than
its row: it sees base, tensor and the kernel interface in ops.
"""

ROWS = [
    ("base",),
    ("tensor", "wire"),
    ("ir", "bundle"),
    ("ops",),
    ("analysis",),
    ("graphdef", "onnx", "passes", "devices"),
    ("lower",),
    ("grad",),
    ("place", "compiled"),
    ("exec",),
    ("session",),
    ("saved_model",),
    ("front", "cluster", "golden"),
    ("cli", "eager"),
    ("python",),
]
NARROWER = {"devices": {"base", "tensor", "ops"}}

# The layer whose types a public header holds. A new header needs a line here.
PUBLIC_HEADERS = {
    "core/export.h": "base",
    "core/options.h": "base",
    "core/dtype.h": "tensor",
    "core/shape.h": "tensor",
    "core/tensor.h": "tensor",
    "core/op.h": "ops",
    "core/observer.h": "tensor",
    "core/session.h": "session",
    "core/debug.h": "session",
    "core/saved_model.h": "saved_model",
    "value.h": "front",
    "graph.h": "front",
    "model.h": "front",
    "structure.h": "front",
    "control_flow.h": "front",
    "state.h": "front",
    "gradients.h": "front",
    "training.h": "front",
    "math.h": "front",
    "gyre.h": "front",
    "ops.h": "front",  # written by the build
    "functions.h": "front",
}

# Public headers for ops of one's own, which hand on what Gyre's own ops are made of: an
# installation holds those headers, too (cmake/install_headers.cmake).
MAY_INCLUDE_INTERNALS = {"core/op.h"}

LAYERS = [layer for row in ROWS for layer in row]


def may_include(layer):
    """The layers whose headers a file of `layer` may include, itself among them."""
    if layer in NARROWER:
        return NARROWER[layer] | {layer}
    below = set()
    for row in ROWS:
        if layer in row:
            return below | {layer}
        below.update(row)
    raise KeyError(layer)


# The layers of the Python package: the folders and modules of python/gyre/_impl. Each row is one
# step up; those of one row do not see each other. The public modules of python/gyre stand above.
PYTHON_ROWS = [
    (
        "config",
        "constants",
        "decorators",
        "device_spec",
        "dispatch",
        "dtypes",
        "errors",
        "facade",
        "files",
        "golden",
        "handlers",
        "importing",
        "locks",
        "names",
        "nest",
        "notebooks",
        "tensorflow_names",
        "unsupported",
    ),
    ("shape",),
    ("annotations",),
    ("device",),
    ("cluster", "convert", "proto", "spec", "tensor", "tracing"),
    ("ops",),
    ("composites",),
    ("parsing", "ragged", "text"),
    ("autodiff",),
    ("control_flow", "variable"),
    ("autograph", "graphs", "module", "random", "summary"),
    ("lookup",),
    ("batching", "checkpoints", "composed", "function", "image"),
    ("data", "raw", "show"),
    ("distribute",),
    ("compat", "onnx", "ray", "saved_model", "setup"),
]
# What programs use and nothing else: not even the public modules import it (the table of names does
# not: it says where names are found).
PYTHON_LEAVES = {"compat"}
# The backend of Keras, which stands on the public names alone, and the one module that imports it.
PYTHON_KERAS = "gyre._keras"
PYTHON_KERAS_DOOR = "gyre.keras"


def python_row(layer):
    """How far up a folder or module of the Python package stands; None: it is in no row."""
    return next((number for number, row in enumerate(PYTHON_ROWS) if layer in row), None)
