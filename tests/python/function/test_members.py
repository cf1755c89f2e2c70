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
