"""Ops run by name: inputs, attributes, and what is wrong with them."""

import numpy as np
import pytest

from gyre import _gyre


def test_lists_attributes_and_names():
    a = _gyre.tensor([1.0, 2.0])
    assert _gyre.execute("ConcatV2", [[a, a, [9.0]], 0])[0].numpy().tolist() == [1, 2, 1, 2, 9]
    assert [t.numpy().tolist() for t in _gyre.execute("Split", [0, a], {"num_split": 2})] == [
        [1],
        [2],
    ]
    assert _gyre.execute("Cast", [a], {"DstT": _gyre.as_dtype("int32")})[0].dtype.name == "int32"
    assert _gyre.execute("Cast", [a], {"DstT": "int32"})[0].dtype.name == "int32"
    assert _gyre.execute("Fill", [[2, 2], 1.5])[0].numpy().tolist() == [[1.5, 1.5]] * 2
    assert _gyre.execute("IdentityN", [[a, 3]])[1].numpy() == 3
    assert _gyre.execute("NoOp", []) == []
    with _gyre.Graph():
        assert _gyre.execute("NoOp", []) == []
        assert _gyre.execute("AddV2", [1.0, 2], name="sum")[0].name == "sum"


def test_literals_take_the_dtype_of_the_others():
    f64 = _gyre.tensor(1.0, dtype="float64")
    assert _gyre.execute("AddV2", [1, f64])[0].dtype.name == "float64"
    assert _gyre.execute("AddV2", [1, 2.5])[0].dtype.name == "float32"
    assert _gyre.execute("AddV2", [1, 2])[0].dtype.name == "int32"
    assert _gyre.execute("AddV2", [1, 2], {"T": "int64"})[0].dtype.name == "int64"
    assert _gyre.execute("Range", [0, 3, 1])[0].dtype.name == "int32"
    with pytest.raises(TypeError, match="'y' of AddV2"):
        _gyre.execute("AddV2", [_gyre.tensor(1), 2.5])


@pytest.mark.parametrize(
    "args",
    [
        ("Add2", [1, 2]),
        ("AddV2", [1]),
        ("AddV2", [1, 2, 3]),
        ("AddV2", 3),
        ("AddV2", None),
        ("ConcatV2", [1, 0]),
        ("AddV2", [1, 2], {"nonsense": 1}),
        ("AddV2", [1, 2], {"T": "nonsense"}),
        ("AddV2", [1, 2], []),
        (3, []),
        ("AddV2", [None, 1]),
        ("AddV2", [object(), 1]),
        ("Cast", [1.0]),
        ("Split", [0, [1.0, 2.0]], {"num_split": "two"}),
        ("Split", [0, [1.0, 2.0]], {"num_split": 10**30}),
        ("Split", [0, [1.0, 2.0]], {"num_split": -1}),
        ("Placeholder", [], {"dtype": "float32"}),
        ("Switch", [1.0, True]),
        ("Reshape", [[1.0, 2.0], [3]]),
        ("MatMul", [[1.0], [2.0]]),
        ("GatherV2", [[1.0], [5], 0]),
        ("BitwiseAnd", [1.0, 2.0]),
        ("ReadVariableOp", [1.0], {"dtype": "float32"}),
        ("Fill", [[1 << 40, 1 << 40], 0.0]),
    ],
)
def test_mistakes_are_exceptions(args, core_error):
    with pytest.raises((TypeError, core_error)):
        _gyre.execute(*args)
    with _gyre.Graph(), pytest.raises((TypeError, ValueError, core_error)):
        outputs = _gyre.execute(*args)
        if args[0] in ("Placeholder", "Switch", "Fill", "ReadVariableOp", "GatherV2"):
            raise ValueError(outputs)


def test_every_op_survives_wrong_inputs():
    """No op, with whatever inputs, takes the process down."""
    values = [
        _gyre.tensor(v) for v in (1.0, [1.0, 2.0], 3, [[1, 2], [3, 4]], True, "a", [], 1 << 40)
    ]
    skip = {"Abort", "_Send", "_Recv", "_HostSend", "_HostRecv", "Recv", "QueueDequeueV2"}
    for name in _gyre.op_names():
        info = _gyre.op_info(name)
        if name in skip or info["stateful"]:
            continue
        for value in values:
            inputs = [
                [value, value] if "number_attr" in i or "type_list_attr" in i else value
                for i in info["inputs"]
            ]
            try:
                _gyre.execute(name, inputs)
            except Exception:  # any exception will do
                pass


def test_op_info():
    info = _gyre.op_info("ConcatV2")
    assert [i["name"] for i in info["inputs"]] == ["values", "axis"] and info["inputs"][0][
        "number_attr"
    ] == "N"
    assert info["doc"] and not info["stateful"] and _gyre.op_info("AssignVariableOp")["stateful"]
    assert "AddV2" in _gyre.op_names() and len(_gyre.op_names()) > 300


def test_random_numbers():
    def draw():
        return _gyre.execute("RandomUniform", [[4]], {"dtype": "float32"})[0].numpy().tolist()

    assert draw() != draw()
    _gyre.set_seed(7)
    first = draw(), draw()
    assert first[0] != first[1]
    _gyre.set_seed(7)
    assert (draw(), draw()) == first
    graph = _gyre.Graph()
    with graph:
        x = _gyre.execute("RandomUniform", [[4]], {"dtype": "float32"})[0]
    call = graph.prepare([], [x])
    _gyre.set_seed(3)
    first = [call([])[0].numpy().tolist() for _ in range(2)]
    _gyre.set_seed(3)
    assert [call([])[0].numpy().tolist() for _ in range(2)] == first and first[0] != first[1]
    _gyre.set_seed(0)


def test_options(core_error):
    graph = _gyre.Graph()
    with graph:
        x = graph.placeholder("float32", ())
        y = x + 1.0
    call = graph.prepare([x], [y])
    for options in (
        {"threads": 1},
        {"engine": "reference"},
        {"form": "optimized"},
        {"window": 4},
        {},
    ):
        _gyre.set_options(**options)
        assert call([_gyre.tensor(1.0)])[0].numpy() == 2
    with pytest.raises(core_error):
        _gyre.set_options(engine="nonsense")
    with pytest.raises(ValueError):
        _gyre.set_options(threads=-1)
    assert call([_gyre.tensor(1.0)])[0].numpy() == 2


def test_queues_without_a_name_are_apart():
    make = lambda: _gyre.execute("FIFOQueueV2", [], {"component_types": ["float32"]})[0]  # noqa: E731
    a, b = make(), make()
    _gyre.execute("QueueEnqueueV2", [a, [1.0]])
    size = lambda q: _gyre.execute("QueueSizeV2", [q])[0].numpy()  # noqa: E731
    assert size(a) == 1 and size(b) == 0


def test_tape():
    x, y = _gyre.tensor(2.0), _gyre.tensor(3.0)
    tape = _gyre.Tape(persistent=True)
    tape.watch(x)
    tape.start()
    assert tape.recording and _gyre.recording()
    z = x * y
    _ = y + y
    w = _gyre.execute("ConcatV2", [[_gyre.execute("Reshape", [z, [1]])[0], [1.0]], 0])[0]
    with pytest.raises(ValueError, match="recording already"):
        tape.start()
    tape.stop()
    assert not tape.recording and not _gyre.recording()
    late = x * x
    assert tape.is_watched(w) and not tape.is_watched(y) and not tape.is_watched(late)
    assert [float(g.numpy()) for g in tape.gradient([(w, None)], [x])] == [3.0]
    assert tape.gradient([(w, None), (late, None)], [y, None]) == [None, None]
    with pytest.raises(ValueError):
        tape.stop()
    tape.reset()
    assert tape.gradient([(w, None)], [x]) == [None]
    with pytest.raises(TypeError):
        tape.gradient([(w, None)], [1.0])


def test_a_tape_takes_what_goes_back_by_itself():
    class Thrice:
        def backward(self, inputs, outputs, dys):
            assert inputs[0].id == x.id and outputs[0].id == y.id
            return [dys[0] * 3.0]

    x, y = _gyre.tensor(2.0), _gyre.tensor(3.0)
    tape = _gyre.Tape()
    tape.watch(x)
    tape.start()
    _gyre.record(Thrice(), [x], [y])
    with _gyre.PausedTapes():
        assert not _gyre.recording()
    z = y * y
    assert _gyre.watched((x, z)) == ((True, True), 1)
    tape.use()
    assert not tape.recording
    assert tape.gradient([(z, None)], [x])[0].numpy() == 18
    with pytest.raises(RuntimeError, match="persistent"):
        tape.use()


def test_variables_that_are_read():
    handle = _gyre.create_variable(_gyre.tensor(2.0))
    tape = _gyre.Tape()
    tape.start()
    _gyre.read_variable(handle)
    assert tape.variables == []
    _gyre.accessed(handle, None)
    x = _gyre.read_variable(handle)
    y = x * 2.0
    tape.stop()
    assert [v.id for v in tape.variables] == [handle.id]
    assert tape.gradient([(y, None)], [handle])[0].numpy() == 2


def test_signature():
    a = _gyre.tensor([1.0, 2.0])
    key = _gyre.signature((a, _gyre.tensor(1)))
    assert (
        key
        == _gyre.signature((_gyre.tensor([5.0, 6.0]), _gyre.tensor(3)))
        != _gyre.signature((a, a))
    )
    assert _gyre.signature((a, 1)) is None
    with _gyre.Graph():
        assert _gyre.signature((a,)) is None
    with pytest.raises(TypeError):
        _gyre.signature([a])


def test_unique_ids():
    seen = set()
    for _ in range(100):
        x = _gyre.tensor(1.0)
        assert x.id not in seen
        seen.add(x.id)
    assert np.ndim(x.numpy()) == 0
