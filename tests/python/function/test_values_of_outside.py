"""What functions take from the call that traces them: first values of variables, shapes,
host code."""

import pytest

import gyre


def test_variables_made_of_arguments():
    class Total:
        value = None

        @gyre.function
        def add(self, x):
            if self.value is None:
                self.value = gyre.Variable(gyre.zeros_like(x) + x[0])
            self.value.assign_add(x)
            return self.value.read_value()

    total = Total()
    assert total.add(gyre.constant([1.0, 2.0])).numpy().tolist() == [2.0, 3.0]
    assert total.add(gyre.constant([1.0, 2.0])).numpy().tolist() == [3.0, 5.0]


def test_variables_made_of_what_is_not_known():
    made = []

    @gyre.function
    def late(x):
        if not made:
            made.append(gyre.Variable(x * 2.0))
        return made[0] + x

    with pytest.raises(ValueError, match="not known while the function is traced"):
        late.get_concrete_function(gyre.TensorSpec([], gyre.float32))


def test_set_shape():
    @gyre.function
    def stated(x, rows):
        y = gyre.numpy_function(lambda a: a, [x], gyre.float32)
        assert y.shape.rank is None
        y.set_shape([rows, 2])
        assert y.shape == [rows, 2]
        with pytest.raises(ValueError, match="incompatible"):
            y.set_shape([rows, 3])
        return y * 2.0

    assert stated(gyre.ones([2, 2]), 2).shape == [2, 2]
    with pytest.raises(gyre.errors.InvalidArgumentError):
        stated(gyre.ones([2, 2]), 3)
    with pytest.raises(ValueError):
        gyre.ones([2]).set_shape([3])


def test_shapes_as_results():
    assert gyre.function(lambda x: x.shape)(gyre.ones([2, 3])).numpy().tolist() == [2, 3]


class OwnError(Exception):
    def __init__(self, number):
        super().__init__(f"number {number}")
        self.number = number


@pytest.mark.parametrize(
    "raised,kinds",
    [
        (ValueError("bad"), (ValueError, gyre.errors.InvalidArgumentError)),
        (TypeError("bad"), (TypeError, gyre.errors.InvalidArgumentError)),
        (NotImplementedError("bad"), (NotImplementedError, gyre.errors.UnimplementedError)),
        (KeyError("bad"), (KeyError, gyre.errors.UnknownError)),
        (OwnError(7), (OwnError, gyre.errors.UnknownError)),
        (gyre.errors.OutOfRangeError(None, None, "bad"), (gyre.errors.OutOfRangeError,)),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_what_host_functions_raise(raised, kinds, traced):
    def fail(x):
        raise raised

    def run(x):
        return gyre.py_function(fail, [x], gyre.float32)

    with pytest.raises(kinds[0]) as caught:
        (gyre.function(run) if traced else run)(gyre.constant(1.0))
    assert all(isinstance(caught.value, kind) for kind in kinds)
    assert "bad" in str(caught.value) or caught.value.number == 7
    assert "fail" in [frame.name for frame in caught.traceback]


def test_gradients_through_host_functions():
    def cube(x, n):
        return x**3 * float(n)

    @gyre.function
    def chain(x, n):
        for i in gyre.range(n):
            x = gyre.py_function(cube, [x, i + 1], gyre.float32)
        return x

    x = gyre.constant(1.1)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = chain(x, gyre.constant(2))
    assert float(tape.gradient(y, x)) == pytest.approx(2 * 9 * 1.1**8, rel=1e-5)


def test_name_scopes_name_variables():
    with gyre.name_scope("outer") as path:
        assert path == "outer/"
        with gyre.name_scope("inner"):
            assert gyre.Variable(1.0, name="w").name == "outer/inner/w:0"
    assert gyre.Variable(1.0, name="w").name == "w:0"


def test_arrays_know_their_elements_after_loops():
    @gyre.function
    def none(n):
        array = gyre.TensorArray(gyre.float32, 0, dynamic_size=True)
        for i in gyre.range(n):
            array = array.write(i, gyre.ones([2]))
        again = gyre.TensorArray(gyre.int32, 0, dynamic_size=True)
        _, again = gyre.while_loop(
            lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i)), [0, again]
        )
        return array.stack(), again.stack()

    assert [t.shape.as_list() for t in none(gyre.constant(0))] == [[0, 2], [0]]
    assert [t.shape.as_list() for t in none(gyre.constant(3))] == [[3, 2], [3]]


def test_map_of_no_rows():
    first, second = gyre.map_fn(lambda x: (x * 2, gyre.size(x)), gyre.zeros([0, 3]))
    assert first.shape == [0, 3] and second.shape == [0] and second.dtype == gyre.int32


def test_functions_whose_calls_may_be_batched():
    @gyre.nondifferentiable_batch_function(1, 10, 100_000)
    def f(x):
        return [gyre.numpy_function(lambda x: x * 2, [x], gyre.float32)]

    x = gyre.constant([1.0, 2.0])
    assert f(x)[0].numpy().tolist() == [2.0, 4.0]
    assert gyre.function(f)(x)[0].numpy().tolist() == [2.0, 4.0]
