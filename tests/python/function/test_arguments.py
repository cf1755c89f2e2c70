"""What functions take: names of inputs, containers, composites, arguments of interfaces."""

import functools
import weakref

import pytest

import gyre


def test_arguments_that_are_changed_are_refused():
    @gyre.function
    def append(xs):
        xs.append(1.0)
        return xs[0]

    @gyre.function
    def outer(xs):
        return append(xs)

    @gyre.function
    def pop(**named):
        return named["d"].pop("a")

    @gyre.function
    def move(xs):  # as many leaves as before
        xs[0].append(xs[1].pop(0))
        return xs[0][0]

    one = gyre.constant(1.0)
    for call in (
        lambda: append([one]),
        lambda: outer([one]),
        lambda: pop(d={"a": one}),
        lambda: move([[one], [one, one]]),
    ):
        with pytest.raises(ValueError, match="should not modify its arguments"):
            call()


def test_names_of_inputs_may_not_collide():
    @gyre.function
    def f(**named):
        return named["a_b"] + named["a/b"]

    with pytest.raises(ValueError, match="'a_b' and 'a/b' of f"):
        f(**{"a_b": 1, "a/b": 2})


def test_names_of_specs_make_a_trace_of_their_own():
    f = gyre.function(lambda x: x + 1.0)
    named = f.get_concrete_function(gyre.TensorSpec(None, name="y"))
    again = f.get_concrete_function(gyre.TensorSpec(None))
    other = f.get_concrete_function(gyre.TensorSpec(None, name="z"))
    assert again is named and other is not named
    assert float(named(y=gyre.constant(3.0))) == 4 and float(named(x=gyre.constant(3.0))) == 4
    assert other.structured_input_signature[0][0].name == "z"


def test_parts_of_an_argument_have_its_name_and_a_number():
    @gyre.function
    def f(x, **named):
        a, b = x
        return a - b + named["d"]

    spec = gyre.TensorSpec([])
    made = f.get_concrete_function((spec, spec), d=spec)
    parts = {"x": 5.0, "x_1": 2.0, "d": 1.0}
    assert float(made(**{name: gyre.constant(value) for name, value in parts.items()})) == 4


def test_an_argument_that_was_traced_as_a_tensor_must_be_given():
    @gyre.function
    def f(x, y=5, *rest):
        return x

    made = f.get_concrete_function(1, gyre.constant(2))
    with pytest.raises(TypeError, match="'y'"):
        made(1)


def test_specs_must_be_within_the_input_signature():
    f = gyre.function(lambda x: x, input_signature=[gyre.TensorSpec([2])])
    assert f.get_concrete_function(gyre.TensorSpec([2])) is f.get_concrete_function()
    with pytest.raises(TypeError, match="input_signature says"):
        f.get_concrete_function(gyre.TensorSpec([3]))


def test_a_concrete_function_of_more_general_sizes_serves():
    f = gyre.function(lambda x: x)
    general = f.get_concrete_function(gyre.TensorSpec([None, None]))
    assert f.get_concrete_function(gyre.TensorSpec([2, 1])) is general


def test_an_input_signature_is_for_what_a_partial_leaves_open():
    spec = [gyre.TensorSpec([], gyre.int32)]
    f = gyre.function(
        functools.partial(lambda a, b, c, d=4: a + b + c + d, 1, 2, d=5), input_signature=spec
    )
    assert int(f(3)) == 11


def test_within_a_function_the_input_signature_says_the_shape():
    shapes = []

    @gyre.function(input_signature=[gyre.TensorSpec([1])])
    def inner(x):
        shapes.append(x.shape.as_list())
        return x

    outer = gyre.function(lambda x: inner(x), input_signature=[gyre.TensorSpec(None)])
    assert outer(gyre.constant([7.0])).numpy().tolist() == [7] and shapes[-1] == [1]


def test_methods_that_take_all_they_are_given():
    def logged(method):
        def wrapper(*args, **kwargs):
            return method(*args, **kwargs)

        return wrapper

    class Adder:
        @gyre.function
        @logged
        def add(self, x, y=1):
            return x + y

        @gyre.function
        def pair(self, x, y):
            return x, y

    assert int(Adder().add(2, 3)) == 5
    adder = Adder()
    again = gyre.function(adder.pair)
    assert again(x="a", y="b")[1].numpy() == b"b"
    with pytest.raises(TypeError, match="'x'"):
        again(y="b")


def test_what_calls_itself_on_all_paths_is_a_recursion_error():
    @gyre.function(autograph=False)
    def f(n):
        return f(n - 1)

    with pytest.raises(RecursionError, match="calls itself on all paths"):
        f(gyre.constant(5))


def test_interfaces_have_one_trace_for_variables_and_numbers():
    f = gyre.function(lambda x, y: x + y, experimental_implements="add")
    v, w = gyre.Variable(1.0), gyre.Variable(2.0)
    assert [float(f(v, w)), float(f(w, w)), float(f(2.0, v))] == [3, 4, 3]
    assert f(v, [2.0, 3.0]).numpy().tolist() == [3, 4]
    assert f.experimental_get_tracing_count() == 2


def test_graphs_say_which_variables_they_use():
    a, b = gyre.Variable(1.0, trainable=False), gyre.Variable(1.0)
    made = gyre.function(lambda: a + b).get_concrete_function()
    assert {v.ref() for v in made.graph.variables} == {a.ref(), b.ref()}
    assert made.graph.trainable_variables == made.trainable_variables == (b,)


def test_references_are_keys_of_structures():
    a, b = gyre.Variable(1.0), gyre.Variable(2.0)

    @gyre.recompute_grad
    def plus_one(values):
        return {key: value + 1 for key, value in values.items()}

    with gyre.GradientTape():
        found = plus_one({b.ref(): b, a.ref(): a})
    assert float(found[a.ref()]) == 2 and float(found[b.ref()]) == 3
    assert weakref.ref(a)() is a
