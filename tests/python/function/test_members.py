"""What functions and concrete functions say of themselves, copies of them, and values that they ask
for at each call."""

import pickle

import pytest

import gyre
import gyre.compat.v1 as tf


def plus_one(x):
    return x + 1.0


def test_clones_and_pickles():
    f = gyre.function(
        plus_one,
        input_signature=[gyre.TensorSpec([])],
        experimental_implements="a.b",
        jit_compile=False,
    )
    for copy in (f._clone(plus_one), pickle.loads(pickle.dumps(f))):
        assert copy.input_signature == f.input_signature and copy._name == f._name
        assert copy._attributes == {"api_implements": "a.b"} and copy._jit_compile is False
        assert float(copy(1.0)) == 2.0 and copy._list_all_concrete_functions()
    assert float(f._clone(lambda x: x * 5.0)(2.0)) == 10.0
    f._decorate(lambda inner: lambda x: inner(x) * 2.0)
    assert float(f(1.0)) == 4.0
    with pytest.raises(ValueError, match="after they have been traced"):
        f._decorate(lambda inner: inner)


def test_concrete_functions_describe_themselves():
    v, w = gyre.Variable(1.0), gyre.Variable(2.0, trainable=False)
    outside = gyre.constant(3.0)

    @gyre.function
    def f(x, scale=2):
        return {"y": x * v * w, "n": outside * float(scale)}

    concrete = f.get_concrete_function(gyre.TensorSpec([None]))
    assert concrete.variables == (v, w) and concrete.trainable_variables == (v,)
    assert concrete.output_dtypes == {"y": gyre.float32, "n": gyre.float32}
    assert concrete.output_shapes["y"].as_list() == [None]
    assert len(concrete.captured_inputs) == 1
    kind = concrete.function_type
    assert (
        list(kind.parameters) == ["x", "scale"] and kind.captures[id(outside)].dtype == gyre.float32
    )
    told = concrete.pretty_printed_signature()
    assert "scale (POSITIONAL_OR_KEYWORD): Literal[2]" in told and "Output Type:" in told
    assert concrete.pretty_printed_signature(verbose=False).startswith("(x: TensorSpec(")


@pytest.mark.parametrize(
    ("traced", "args", "kwargs"),
    [
        ((5,), (8,), {}),
        ((5,), (gyre.constant(6),), {}),
        (({"a": gyre.constant(1)},), (gyre.constant(1), 5), {}),
        ((gyre.constant(1),), (gyre.constant(1.0), 5), {}),
        ((gyre.constant(1),), (gyre.constant(1),), {"x": gyre.constant(1)}),
        ((gyre.constant(1), gyre.constant(2)), (gyre.constant(1),), {}),
    ],
)
def test_calls_of_a_concrete_function_with_other_arguments(traced, args, kwargs):
    concrete = gyre.function(lambda x, y=5: x).get_concrete_function(*traced)
    with pytest.raises(TypeError):
        concrete(*args, **kwargs)


def test_calls_of_a_concrete_function():
    concrete = gyre.function(lambda x, y, z: x * z).get_concrete_function(
        gyre.TensorSpec([], name="x"), "text", gyre.constant(2.0)
    )
    three, four = gyre.constant(3.0), gyre.constant(4.0)
    assert float(concrete(three, "text", four)) == 12.0
    assert float(concrete(three, z=four)) == 12.0  # a tensor for each tensor
    assert float(concrete._call_with_flat_signature([], {"x": three, "z": four})) == 12.0
    with pytest.raises(TypeError, match="misses required arguments: z"):
        concrete._call_with_flat_signature([three], {})


def test_values_of_each_call():
    value = 1.0

    @gyre.function
    def inner(x):
        late = tf.get_default_graph().capture_call_time_value(lambda: value, gyre.TensorSpec(None))
        return x + late

    outer = gyre.function(lambda x: inner(x))
    assert (float(inner(2.0)), float(outer(2.0))) == (3.0, 3.0)
    value = 5.0
    assert (float(inner(2.0)), float(outer(2.0))) == (7.0, 7.0)
    concrete = inner.get_concrete_function(gyre.constant(2.0))
    assert [callable(c) for c in concrete._captured_inputs] == [True]
    value = gyre.constant(1)
    with pytest.raises(TypeError, match="Can not cast"):
        inner(2.0)
    concrete.set_external_captures([gyre.constant(10.0)])
    assert float(concrete(gyre.constant(1.0))) == 11.0


def test_composites_of_each_call():
    rows = gyre.ragged.constant([[1, 2], [3]])

    @gyre.function
    def f():
        return tf.get_default_graph().capture_call_time_value(
            lambda: {"r": rows}, {"r": gyre.RaggedTensorSpec([2, None], gyre.int32)}, key="rows"
        )

    assert f()["r"].to_list() == [[1, 2], [3]]
    rows = gyre.constant([[1]])
    with pytest.raises(TypeError, match="Can not cast"):
        f()


def test_jit_compile_of_a_function_that_contracts():
    made = {"contract": True}, {"jit_compile": True}, {"jit_compile": False}, {}
    assert [gyre.function(lambda x: x, **options)._jit_compile for options in made] == [
        True,
        True,
        False,
        None,
    ]


def test_values_of_calls_of_functions_that_are_gone():
    def made(value):
        def inner(x):
            graph = tf.get_default_graph()
            return x * graph.capture_call_time_value(lambda: value, gyre.TensorSpec([]))

        return gyre.function(inner, autograph=False)

    @gyre.function(autograph=False)
    def outer(x):
        return gyre.stack([made(float(k))(x) for k in range(20)])  # each is gone before the next

    assert outer(gyre.constant(1.0)).numpy().tolist() == list(range(20))


def test_signatures_as_they_are_shown():
    @gyre.function
    def f(x, kangaroo=None, octopus=7):
        return x

    concrete = f.get_concrete_function(gyre.constant(5), gyre.constant([1, 2, 3]))
    vector = "TensorSpec(shape=(3,), dtype=tf.int32, name=None)"
    scalar = vector.replace("(3,)", "()")
    short = f"(x: {scalar}, kangaroo: {vector}, octopus: Literal[7]) -> {scalar}"
    assert concrete.pretty_printed_signature(verbose=False) == short
    assert str(concrete).startswith("ConcreteFunction Input Parameters:\n  x (POSITIONAL_OR_")
    assert repr(concrete).startswith(f"<ConcreteFunction f{short} at 0x")
    named = f.get_concrete_function(gyre.TensorSpec([], gyre.int32, "given"))
    assert "name='given'" in named.pretty_printed_signature()


def test_inputs_by_reference():
    traces = []

    @gyre.function
    def f():
        traces.append(1)
        graph = gyre.compat.v1.get_default_graph()
        return graph._experimental_capture_side_input_by_ref("x", lambda: x)

    x = 1
    assert int(f()) == 1
    x = 2
    assert int(f()) == 2
    x = gyre.constant(3)
    assert int(f()) == 3 and len(traces) == 1


def test_functions_of_a_graph():
    @gyre.function
    def g(x):
        return x + 1

    graph = gyre.function(lambda x: g(x)).get_concrete_function(gyre.constant(1)).graph
    (name,) = [f.signature.name for f in graph.as_graph_def().library.function]
    assert graph._is_function(name)
    graph._remove_function(name)
    assert not graph._is_function(name) and not graph.as_graph_def().library.function
    with pytest.raises(ValueError, match="not found"):
        graph._remove_function(name)


def test_concrete_functions_take_other_shapes():
    concrete = gyre.function(lambda x: x + 1.0).get_concrete_function(gyre.constant([1.0]))
    assert concrete(gyre.constant([1.0, 2.0])).numpy().tolist() == [2.0, 3.0]
    assert concrete(gyre.constant([[5.0]])).numpy().tolist() == [[6.0]]
    with pytest.raises(TypeError, match="Can not cast"):
        gyre.function(lambda: concrete(gyre.constant([1.0, 2.0])))()
    fixed = gyre.function(lambda x: gyre.reshape(x, [2])).get_concrete_function(gyre.ones([2]))
    with pytest.raises(gyre.errors.InvalidArgumentError):
        fixed(gyre.ones([3]))


def test_effects_that_are_no_results():
    v = gyre.Variable(1.0)

    def f(x):
        t = v.read_value()
        v.assign_add(x)
        return t

    x = gyre.constant(2.0)
    plain = gyre.function(f)
    bare = gyre.function(f, experimental_attributes={"_disable_acd": True})
    assert len(plain.get_concrete_function(x).graph.control_outputs) == 2
    assert bare.get_concrete_function(x).graph.control_outputs == []
    assert [float(bare(x)), float(v)] == [1.0, 1.0]
    assert [float(plain(x)), float(v)] == [1.0, 3.0]
    assert bare._attributes == {"_disable_acd": True}


def test_operations_that_change_variables():
    v = gyre.Variable(1.0)

    @gyre.function
    def f():
        assert v.assign_add(2.0).op.type == "AssignAddVariableOp"
        return v.read_value()

    assert float(f()) == 3.0
    with pytest.raises(AttributeError, match="only in a graph that changes it"):
        _ = v.op


def test_names_of_scopes_within_constructs():
    seen = []

    @gyre.function
    def f(p):
        def branch():
            with gyre.name_scope("inner"):
                seen.append(gyre.__internal__.get_name_scope())
            return 0.0

        def body(i):
            seen.append(gyre.__internal__.get_name_scope())
            return i + 1

        with gyre.name_scope("outer"):
            gyre.while_loop(lambda i: i < 2, body, [0])
            return gyre.cond(p, branch, lambda: 1.0)

    f(gyre.constant(True))
    assert seen == ["outer/while", "outer/cond/inner"]


def test_sizes_that_calls_tell():
    @gyre.function(input_signature=[gyre.TensorSpec([None, None]), gyre.TensorSpec([], gyre.int32)])
    def f(x, s):
        assert x.shape.as_list() == [None, None]
        return gyre.ones([gyre.shape(x)[0] * 2, s])

    @gyre.function
    def g(x):
        y = f(x, 5)
        assert y.shape.as_list() == [6, 5]
        return y

    assert g(gyre.zeros([3, 4])).shape == (6, 5)
    with pytest.raises(TypeError, match="input_signature says"):
        gyre.function(lambda: f(gyre.zeros([3]), 5))()


def test_functions_that_are_made_again_and_again_are_told_of(caplog):
    for i in range(5):

        def made(x):
            return x

        assert not caplog.records
        gyre.function(made)(i)
        del made
    assert "Tracing is expensive" in caplog.text and len(caplog.records) == 1


def test_what_is_implemented_uses_nothing_of_a_graph_around():
    with tf.Graph().as_default():
        z = tf.zeros([1])
        f = gyre.function(lambda x: x + z, experimental_implements="plus")
        with pytest.raises(AssertionError, match="variables are always captured"):
            f(tf.ones([1]))
