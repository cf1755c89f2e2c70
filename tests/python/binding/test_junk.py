"""Whatever is handed to the module, Python gets an exception or a result: the process lives."""

import itertools
import random

import numpy as np
import pytest

from gyre import _gyre

SKIPPED = {
    "cli",
    "check_golden",
    "set_error_factory",
    "set_line_provider",
    "set_traceback_filter",
    "load_plugin",
    "set_devices",
    "set_nan_trap",
    "set_options",
    "set_seed",
    "set_graph_size_limit",
}


def junk():
    graph = _gyre.Graph()
    with graph:
        symbolic = graph.placeholder("float32", (None, 2))
    return [
        None,
        0,
        -1,
        10**30,
        1.5,
        float("nan"),
        True,
        1j,
        "",
        "float32",
        b"\xff",
        "x" * 1000,
        [],
        [[]],
        [1, [2]],
        (),
        {},
        {"a": 1},
        {1: 2},
        object(),
        int,
        len,
        lambda *a: None,
        lambda *a: [],
        lambda *a: 1 / 0,
        np.zeros(3),
        np.array("a"),
        _gyre.tensor(1.0),
        _gyre.tensor([1, 2]),
        _gyre.tensor("s"),
        [_gyre.tensor(1.0)],
        symbolic,
        [symbolic],
        graph,
        _gyre.Tape(),
        _gyre.float32,
        [_gyre.float32],
        range(3),
        iter([]),
        slice(1),
        Ellipsis,
        ValueError,
        _gyre.create_variable(_gyre.tensor(1.0)),
        memoryview(b"ab"),
        bytearray(b"ab"),
        set(),
        np.float32(1),
        "\ud800",
    ]


def call(function, arguments):
    try:
        function(*arguments)
    except Exception:  # any will do
        pass


FUNCTIONS = [
    n
    for n in dir(_gyre)
    if callable(getattr(_gyre, n)) and not n.startswith("__") and n not in SKIPPED
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("in_graph", [False, True])
def test_functions(name, in_graph):
    values = junk()
    draw = random.Random(name).choice
    function = getattr(_gyre, name)
    calls = [()] + [(v,) for v in values]
    calls += [tuple(draw(values) for _ in range(n)) for n in (2, 3, 4, 5) for _ in range(100)]
    if not in_graph:
        for arguments in calls:
            call(function, arguments)
        return
    with _gyre.Graph():
        for arguments in calls:
            call(function, arguments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: _gyre.tensor([[1.0, 2.0]]),
        lambda: _gyre.Graph(),
        lambda: _gyre.float32,
        lambda: _gyre.Tape(),
        lambda: _gyre.OptimizerRule.adam(),
        lambda: _gyre.Graph().prepare([], []),
    ],
)
def test_methods(make):
    values = junk()
    target = make()
    draw = random.Random(1).choice
    for name in dir(target):
        if name in (
            "__class__",
            "__init_subclass__",
            "__subclasshook__",
            "__new__",
            "__init__",
            "__setattr__",
            "__delattr__",
            "__enter__",
            "start",
        ):
            continue
        try:
            method = getattr(target, name)
        except Exception:
            continue
        if callable(method):
            for arguments in itertools.chain(
                [()],
                [(v,) for v in values],
                [tuple(draw(values) for _ in range(n)) for n in (2, 3) for _ in range(30)],
            ):
                call(method, arguments)


def test_attributes_of_all_kinds():
    values = junk()
    for op in _gyre.op_names():
        info = _gyre.op_info(op)
        for attr in info["attrs"]:
            for value in values:
                with _gyre.Graph():
                    inputs = [
                        [1.0] if "number_attr" in i or "type_list_attr" in i else 1.0
                        for i in info["inputs"]
                    ]
                    call(_gyre.execute, (op, inputs, {attr["name"]: value}))
