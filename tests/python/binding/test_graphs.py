"""Graphs that are traced: control flow, names, captures, gradients, what keeps them alive."""

import gc
import weakref

import numpy as np
import pytest

from gyre import _gyre


def run(build, *feeds, effects=True):
    """Builds a graph of placeholders like the feeds, and runs it."""
    tensors = [_gyre.tensor(f) for f in feeds]
    graph = _gyre.Graph()
    with graph:
        inputs = [graph.placeholder(t.dtype, t._dims) for t in tensors]
        outputs = build(*inputs)
    captured = graph.captures
    call = graph.prepare(inputs + [inner for _, inner in captured], outputs, effects=effects)
    return [t.numpy() for t in call(tensors + [outer for outer, _ in captured])]


def test_control_flow():
    def build(x):
        (y,) = _gyre.trace_cond(x > 0.0, lambda: [x * 2.0], lambda: [-x])
        i, s = _gyre.trace_while(
            lambda v: v[0] < 5, lambda v: [v[0] + 1, v[1] + x], [_gyre.convert(0), y]
        )
        (c,) = _gyre.trace_case(i, [lambda: [s], lambda: [s * 0.0]])
        (r,) = _gyre.trace_range(0, 4, 1, lambda i, v: [v[0] * x], [y])
        (m,) = _gyre.trace_map(lambda v: [v[0] * x], [_gyre.convert([1.0, 2.0])])
        (f,) = _gyre.trace_fold(lambda s, row: [s[0] + row[0]], [m], [x], keep=False)
        (k,) = _gyre.trace_fold(lambda s, row: [s[0] + row[0]], [m], [x], keep=True, reverse=True)
        return [y, i, s, c, r, m, f, k]

    y, i, s, c, r, m, f, k = run(build, 3.0)
    assert (y, i, s, c, r) == (6, 5, 21, 0, 486)
    assert m.tolist() == [3, 6] and f == 12 and k.tolist() == [12, 9]
    assert run(build, -3.0)[0] == 3


def test_names_in_messages():
    graph = _gyre.Graph()
    with graph, pytest.raises(Exception, match="'weights'") as caught:
        _gyre.trace_while(
            lambda v: v[0] < 5,
            lambda v: [v[0] + 1, _gyre.convert(1)],
            [_gyre.convert(0), _gyre.convert(1.0)],
            paths=["i", "weights"],
        )
    assert caught.value.code == "INVALID_ARGUMENT"


def test_exceptions_of_bodies_come_out_unchanged():
    class Mine(Exception):
        pass

    error = Mine("here")

    def fail(*_):
        raise error

    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", ())
        rows = _gyre.convert([1.0])
        constructs = [
            lambda: _gyre.trace_cond(x > 0.0, fail, lambda: [x]),
            lambda: _gyre.trace_cond(x > 0.0, lambda: [x], fail),
            lambda: _gyre.trace_case(_gyre.convert(0), [fail]),
            lambda: _gyre.trace_while(fail, lambda v: v, [x]),
            lambda: _gyre.trace_while(lambda v: v[0] < 1.0, fail, [x]),
            lambda: _gyre.trace_range(0, 3, 1, fail, [x]),
            lambda: _gyre.trace_map(fail, [rows]),
            lambda: _gyre.trace_fold(fail, [rows], [x], keep=True),
            lambda: _gyre.GraphFunction("f")([x], fail),
            lambda: _gyre.custom_gradient([x], fail, fail),
            lambda: _gyre.trace_cond(
                x > 0.0, lambda: _gyre.trace_while(lambda v: v[0] < 1.0, fail, [x]), lambda: [x]
            ),
        ]
        for construct in constructs:
            with pytest.raises(Mine) as caught:
                construct()
            assert caught.value is error
            assert caught.traceback[-1].name == "fail"
            assert not _gyre.in_body()
            y = x * 2.0  # the graph goes on
    assert graph.prepare([x], [y])([_gyre.tensor(4.0)])[0].numpy() == 8


def test_wrong_bodies(core_error):
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", ())
        for wrong in (lambda: None, lambda: x, lambda: 3):
            with pytest.raises(TypeError, match="list"):
                _gyre.trace_cond(x > 0.0, wrong, lambda: [x])
        with pytest.raises(core_error):
            _gyre.trace_cond(x > 0.0, lambda: [x, x], lambda: [x])
        with pytest.raises(TypeError):
            _gyre.trace_while(3, 4, [x])
        with pytest.raises(TypeError):
            _gyre.trace_while(lambda v: True, lambda v: v, x)


def test_lines():
    try:
        _gyre.set_line_provider(lambda: "user.py:42")
        graph = _gyre.Graph()
        with graph:
            x = graph.placeholder("float32", (None,))
            y = x + _gyre.convert([1.0, 2.0])
            with pytest.raises(Exception, match="user.py:42") as caught:
                _gyre.convert([1.0]) @ _gyre.convert([1.0, 2.0])
        assert caught.value.code == "INVALID_ARGUMENT"
        with pytest.raises(Exception, match="user.py:42"):
            graph.prepare([x], [y])([_gyre.tensor([1.0, 2.0, 3.0])])
        assert "user.py:42" in graph.text() or True

        def fails():
            raise KeyError("no line")

        _gyre.set_line_provider(fails)
        with graph, pytest.raises(KeyError):
            graph.placeholder("float32", ())
    finally:
        _gyre.set_line_provider(None)


def test_captures():
    float_one, int_one = _gyre.tensor(2.0), _gyre.tensor(3)
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", ())
        y = x * float_one
        z = _gyre.trace_cond(x > 0.0, lambda: [y * float_one], lambda: [y])[0]
        n = int_one + 1
    ((outer, inner),) = graph.captures
    assert outer is float_one and inner.is_symbolic and graph.captures[0][1].id == inner.id
    call = graph.prepare([x, inner], [z, n])
    assert [t.numpy() for t in call([_gyre.tensor(1.0), _gyre.tensor(5.0)])] == [25, 4]


def test_graphs_in_graphs():
    outer = _gyre.Graph("outer")
    with outer:
        x = outer.placeholder("float32", ())
        inner = _gyre.Graph("inner")
        with inner:
            y = x * 2.0
        ((around, placeholder),) = inner.captures
        assert around is x and y.graph is inner
    with inner, pytest.raises(Exception, match="outer"):
        y + x
    with pytest.raises(Exception, match="outer|inner"):
        inner.prepare([placeholder], [x])


def test_init_scope_and_context():
    assert _gyre.executing_eagerly() and _gyre.current_graph() is None
    graph = _gyre.Graph()
    with graph:
        assert not _gyre.executing_eagerly() and _gyre.current_graph() is graph
        with _gyre.init_scope():
            assert _gyre.executing_eagerly()
            assert not (_gyre.tensor(1) + 1).is_symbolic
        assert (_gyre.convert(1) + 1).is_symbolic
        with pytest.raises(ZeroDivisionError):
            with _gyre.init_scope():
                raise ZeroDivisionError
        assert _gyre.current_graph() is graph
    assert _gyre.current_graph() is None


def test_symbolic_tensors_say_what_to_do(core_error):
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", (None, 2), name="x")
    for wrong in (bool, int, float, iter, len, np.asarray, lambda t: t.numpy(), complex):
        with pytest.raises(TypeError, match="symbolic"):
            wrong(x)
    assert "'x'" in repr(x) and x.name == "x" and x.graph is graph and x._dims == (None, 2)
    with pytest.raises(BufferError):
        memoryview(x)
    with pytest.raises(core_error, match="belongs to graph"):
        x + 1.0  # its graph is not current any more
    with graph:
        assert (x + 1.0).is_symbolic


def test_variables():
    float32 = _gyre.as_dtype("float32")
    handle = _gyre.create_variable(_gyre.tensor(1.0), name="v")
    graph = _gyre.Graph()
    with graph:
        inside = graph.variable(handle, float32, ())
        before = _gyre.execute("ReadVariableOp", [inside], {"dtype": float32})[0]
        _gyre.execute("AssignAddVariableOp", [handle, 2.0], {"dtype": float32})
        after = _gyre.execute("ReadVariableOp", [handle], {"dtype": float32})[0]
    assert len(graph.variables) == 1 and graph.variables[0][0] is handle
    call = graph.prepare([], [before, after])
    assert [t.numpy() for t in call([])] == [1, 3]
    assert _gyre.read_variable(handle).numpy() == 3
    _gyre.assign_variable(handle, _gyre.tensor(10.0))
    assert call([])[1].numpy() == 12
    assert graph.prepare([], [before], effects=False)([])[0].numpy() == 12
    assert _gyre.read_variable(handle).numpy() == 12
    del graph, handle, inside, before, after
    gc.collect()
    assert call([])[1].numpy() == 14  # the executable keeps it
    with pytest.raises(TypeError):
        _gyre.read_variable(_gyre.tensor(1))
    with pytest.raises(ValueError):
        _gyre.create_variable(_gyre.tensor([1.0]), dims=(2,))


def test_gradients(core_error):
    def build(x):
        (y,) = _gyre.trace_while(lambda v: v[0] < 100.0, lambda v: [v[0] * x], [x])
        (c,) = _gyre.custom_gradient([x], lambda a: [a[0] * 5.0], lambda a, dy: [dy[0] * 100.0])
        free = _gyre.convert(1.0)
        return (
            _gyre.gradients([y], [x])
            + _gyre.gradients([c], [x])
            + _gyre.gradients([y], [free], unconnected="zero")
            + [_gyre.jvp(x * x, x, _gyre.convert(2.0))]
        )

    assert [float(g) for g in run(build, 3.0)] == [405, 100, 0, 12]
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", (3, 2))
        free = _gyre.convert(1.0)
        assert _gyre.gradients([x], [free]) == [None]
        with pytest.raises(core_error):
            _gyre.gradients([x], [free], unconnected="error")
        with pytest.raises(ValueError):
            _gyre.gradients([x], [x], unconnected="whatever")
        y = _gyre.execute("GatherV2", [x, [0, 2], 0])[0]
        ((values, indices, shape),) = _gyre.gradients([y], [x], sparse=True)
        assert values._dims == (2, 2) and indices._dims == (2,) and shape._dims == (2,)
    with pytest.raises(Exception, match="graph"):
        _gyre.gradients([_gyre.tensor(1.0)], [_gyre.tensor(1.0)])


def test_functions_recursion_and_templates():
    int32 = _gyre.as_dtype("int32")

    def build(n):
        f = _gyre.GraphFunction("fact", [(int32, ())], [(int32, ())])
        f.define(
            lambda a: _gyre.trace_cond(
                a[0] < 2, lambda: [_gyre.convert(1)], lambda: [a[0] * f([a[0] - 1])[0]]
            )
        )
        return f([n])

    assert run(build, 6)[0] == 720

    def build_with_constants(n):
        f = _gyre.GraphFunction("f", [(int32, (2,))], [(int32, ())])
        f.define(
            lambda a: _gyre.trace_cond(
                a[0][0] < 2,
                lambda: [_gyre.convert(1)],
                lambda: [f([a[0] - _gyre.tensor([1, 1])])[0] + _gyre.tensor(1)],
            )
        )
        return f([n])

    assert run(build_with_constants, [6, 1])[0] == 6

    handle = _gyre.create_variable(_gyre.tensor(1.0))
    float32 = _gyre.as_dtype("float32")
    inner = _gyre.Graph()
    with inner:
        x = inner.placeholder("float32", ())
        _gyre.execute("AssignAddVariableOp", [handle, x], {"dtype": float32})
        y = _gyre.execute("ReadVariableOp", [handle], {"dtype": float32})[0] * x
        (y,) = _gyre.trace_cond(x > 0.0, lambda: [y], lambda: [-y])

    def use(a):
        f = _gyre.GraphFunction.of_graph("f", inner, [x], [y])
        z = f([a])[0]
        h = _gyre.current_graph().variable(handle, float32, ())
        return [z] + _gyre.gradients([z], [h]) + _gyre.gradients([z], [a])

    z, dh, da = run(use, 3.0)
    assert z == 12 and _gyre.read_variable(handle).numpy() == 4 and dh == 3 and da == 4 + 0
    with _gyre.Graph(), pytest.raises(TypeError):
        _gyre.GraphFunction.of_graph("f", inner, [x], [y])([])


def test_settings_and_texts():
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", (), name="x")
        with graph.names_scope("scope"), graph.device_scope("/cpu:0"):
            y = x * 2.0
        with graph.control_scope([y]):
            z = x + 1.0
    assert y.name.startswith("scope/") and y.device == "/cpu:0" and z.name
    assert graph.shapes()["x"] == [("float32", ())]
    assert "scope/" in graph.text() and len(graph.graph_def()) > 20
    wrong = graph.names_scope("s")
    with pytest.raises(ValueError):
        wrong.__exit__(None, None, None)
    with pytest.raises(ValueError):
        graph.__exit__(None, None, None)


def test_feeds_of_any_value_and_wrong_ones():
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", (2,))
        y = x * 2.0
        z = y + 1.0
        inner = []
        _gyre.trace_cond(x[0] > 0.0, lambda: inner.append(x * 3.0) or [x], lambda: [x])
    assert graph.prepare([y], [z])([_gyre.tensor([1.0, 2.0])])[0].numpy().tolist() == [2, 3]
    call = graph.prepare([x], [z])
    assert call((_gyre.tensor([1.0, 2.0]),))[0].numpy().tolist() == [3, 5]
    for wrong, error in (
        ([], TypeError),
        ([1.0], TypeError),
        ([x], TypeError),
        (3, TypeError),
        (None, TypeError),
    ):
        with pytest.raises(error):
            call(wrong)
    for wrong in (_gyre.tensor([1, 2]), _gyre.tensor([1.0])):
        with pytest.raises(Exception) as caught:
            call([wrong])
        assert caught.value.code == "INVALID_ARGUMENT"
    with pytest.raises(Exception, match="body|branch"):
        graph.prepare([x], inner)
    with pytest.raises(Exception, match="twice"):
        graph.prepare([x, x], [z])
    with pytest.raises(TypeError):
        graph.prepare([3], [z])


def test_nothing_keeps_a_graph_alive():
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", ())
        y = _gyre.trace_while(lambda v: v[0] < 3.0, lambda v: [v[0] + x], [x])  # noqa: F821 (it is deleted later)
    graph.notes = [x, y]
    gone = weakref.ref(graph), weakref.ref(x)
    call = graph.prepare([x], y)
    del graph, x, y
    gc.collect()
    assert gone[0]() is None and gone[1]() is None
    assert call([_gyre.tensor(2.0)])[0].numpy() == 4


def test_graph_of_a_tensor_outlives_its_object():
    graph = _gyre.Graph("g")
    with graph:
        x = graph.placeholder("float32", ())
    del graph
    gc.collect()
    with x.graph as again:
        y = x + 1.0
    assert again.name == "g" and again.prepare([x], [y])([_gyre.tensor(1.0)])[0].numpy() == 2


def test_imported_graphs(tmp_path):
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", (), name="x")
        _gyre.execute("Mul", [x, 3.0], name="y")
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.graph_def())

    def build(a):
        return _gyre.import_graph(str(path), ["y"], {"x": a})

    assert run(build, 2.0)[0] == 6
    with _gyre.Graph(), pytest.raises(Exception) as caught:
        _gyre.import_graph(str(path), ["nothing"], {})
    assert caught.value.code == "NOT_FOUND"
