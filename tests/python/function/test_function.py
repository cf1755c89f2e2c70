"""gyre.function: traces by signature, methods, recursion, variables, captures, gradients."""

import collections
import dataclasses
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import gyre

Point = collections.namedtuple("Point", "x y")


def counting(fn, **options):
    """(function, list of one entry per trace)."""
    traces = []

    def traced(*args, **kwargs):
        traces.append(args)
        return fn(*args, **kwargs)

    return gyre.function(traced, **options), traces


def test_one_trace_per_dtype():
    f, traces = counting(lambda x: x + x)
    for value in (1.0, 2.0, 3.0):
        assert float(f(gyre.constant(value))) == 2 * value
    assert len(traces) == 1
    f(gyre.constant(1))
    assert len(traces) == 2


def test_shapes_are_left_open_from_the_second_on():
    f, traces = counting(lambda x: gyre.reduce_sum(x))
    for n in (2, 3, 4, 5, 2):
        assert float(f(gyre.ones([n]))) == n
    assert len(traces) == 2
    assert traces[0][0].shape == [2] and traces[1][0].shape.as_list() == [None]


def test_exact_shapes_on_request():
    f, traces = counting(lambda x: gyre.reduce_sum(x), reduce_retracing=False)
    for n in (2, 3, 4):
        f(gyre.ones([n]))
    assert len(traces) == 3


def test_python_numbers_are_part_of_the_signature():
    f, traces = counting(lambda x, n: x * n)
    assert float(f(gyre.constant(2.0), 3)) == 6
    assert float(f(gyre.constant(2.0), 3)) == 6
    assert float(f(gyre.constant(2.0), 4)) == 8
    assert len(traces) == 2


def test_objects_by_identity():
    class Thing:
        def __init__(self, k):
            self.k = k

    f, traces = counting(lambda x, thing: x * thing.k)
    a, b = Thing(2.0), Thing(3.0)
    assert [float(f(gyre.constant(1.0), t)) for t in (a, b, a, b)] == [2, 3, 2, 3]
    assert len(traces) == 2
    gone = weakref.ref(a)
    del a, traces[:]
    gc.collect()
    assert gone() is None


def test_structures_in_and_out():
    @gyre.function
    def f(p, d):
        return {"sum": p.x + d["k"][0], "point": Point(p.y, p.x), "none": None}

    out = f(Point(gyre.constant(1.0), gyre.constant(2.0)), {"k": [gyre.constant(3.0)]})
    assert float(out["sum"]) == 4 and float(out["point"].x) == 2 and out["none"] is None
    assert isinstance(out["point"], Point)


def test_dataclasses():
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object

    @gyre.function
    def f(p):
        return Pair(p.b, p.a + 1)

    out = f(Pair(gyre.constant(1), gyre.constant(2)))
    assert (int(out.a), int(out.b)) == (2, 2)


@pytest.mark.filterwarnings("ignore:traced is traced")
def test_keywords_and_defaults():
    f, traces = counting(lambda x, k=2, *, m=3: x * k + m)
    x = gyre.constant(5)
    assert [int(f(x)), int(f(x, 4)), int(f(x, k=4)), int(f(x, m=0)), int(f(k=1, x=x))] == [
        13,
        23,
        23,
        10,
        8,
    ]


def test_varargs():
    f = gyre.function(lambda *xs, **named: sum(xs) + named.get("k", 0))
    assert int(f(gyre.constant(1), gyre.constant(2))) == 3
    assert int(f(gyre.constant(1), k=gyre.constant(5))) == 6


def test_numpy_arguments():
    f, traces = counting(lambda x: x * 2)
    assert f(np.array([1.0, 2.0], np.float32)).numpy().tolist() == [2, 4]
    f(np.array([3.0, 4.0], np.float32))
    assert len(traces) == 1


def test_input_signature():
    f, traces = counting(lambda x: x * 2, input_signature=[gyre.TensorSpec([None], gyre.float32)])
    assert f([1.0, 2.0]).numpy().tolist() == [2, 4]
    f(gyre.ones([5]))
    assert len(traces) == 1
    with pytest.raises((TypeError, ValueError)):
        f(gyre.constant([1, 2]))
    with pytest.raises((TypeError, ValueError)):
        f(gyre.constant(1.0))


def test_concrete_function():
    f = gyre.function(lambda x, y: (x + y, {"d": x - y}))
    concrete = f.get_concrete_function(
        gyre.TensorSpec([None], gyre.float32), gyre.TensorSpec([], gyre.float32)
    )
    total, rest = concrete(gyre.constant([1.0, 2.0]), gyre.constant(1.0))
    assert total.numpy().tolist() == [2, 3] and rest["d"].numpy().tolist() == [0, 1]
    assert len(concrete.inputs) == 2 and len(concrete.outputs) == 2
    assert concrete.structured_outputs[1]["d"].is_symbolic
    (x, _), _ = concrete.structured_input_signature
    assert x.shape.as_list() == [None]


def test_concrete_function_is_the_one_that_calls_use():
    f, traces = counting(lambda x: x + 1)
    f.get_concrete_function(gyre.TensorSpec([], gyre.float32))
    f(gyre.constant(1.0))
    assert len(traces) == 1


def test_captures():
    k = gyre.constant(3.0)
    f = gyre.function(lambda x: x * k)
    assert float(f(gyre.constant(2.0))) == 6
    concrete = f.get_concrete_function(gyre.constant(2.0))
    assert len(concrete.captured_inputs) == 1 and float(concrete.captured_inputs[0]) == 3


def test_methods():
    class Model:
        def __init__(self, k):
            self.k = k

        @gyre.function
        def scale(self, x):
            if x > 0:
                return x * self.k
            return x

    a, b = Model(2.0), Model(3.0)
    assert [float(m.scale(gyre.constant(1.0))) for m in (a, b, a)] == [2, 3, 2]
    assert a.scale == a.scale != b.scale
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_method_of_unhashable():
    class Model:
        __hash__ = None

        @gyre.function
        def twice(self, x):
            return x * 2

    m = Model()
    assert float(m.twice(gyre.constant(1.0))) == 2
    assert m.twice == m.twice and hash(m.twice) == hash(m.twice)


def test_variables():
    v = gyre.Variable(1.0)

    @gyre.function
    def f(x):
        v.assign_add(x)
        return v * 2

    assert [float(f(gyre.constant(1.0))) for _ in range(3)] == [4, 6, 8]
    assert float(v.numpy()) == 4


def test_variables_in_loops():
    v = gyre.Variable(0)

    @gyre.function
    def f(n):
        for i in range(n):
            if i % 2 == 0:
                v.assign_add(i)
        return v.read_value()

    assert int(f(gyre.constant(7))) == 12 and int(v.numpy()) == 12


def test_variable_as_condition():
    v = gyre.Variable(0)

    @gyre.function
    def f():
        while v < 5:
            v.assign_add(2)
        return v.read_value()

    assert int(f()) == 6


def test_variables_are_created_once():
    class Model:
        v = None

        @gyre.function
        def f(self, x):
            if self.v is None:
                self.v = gyre.Variable(2.0)
            return x * self.v

    m = Model()
    assert [float(m.f(gyre.constant(3.0))) for _ in range(2)] == [6, 6]


def test_variables_in_each_call_are_refused():
    @gyre.function
    def f(x):
        v = gyre.Variable(1.0)
        return x + v

    with pytest.raises(ValueError, match="first call"):
        f(gyre.constant(1.0))


def test_calls_of_functions():
    @gyre.function
    def square(x):
        return x * x

    @gyre.function
    def f(x):
        s = x
        for _ in range(3):
            s = square(s)
        if s > 10:
            s = square(s)
        return s

    assert float(f(gyre.constant(2.0))) == 2.0**16


@pytest.mark.parametrize("n, expected", [(0, 0), (1, 1), (10, 55), (15, 610)])
def test_fibonacci(n, expected):
    @gyre.function
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    assert int(fib(gyre.constant(n))) == expected


def test_recursion_with_cond():
    @gyre.function
    def factorial(n):
        return gyre.cond(n <= 1, lambda: 1, lambda: n * factorial(n - 1))

    assert int(factorial(gyre.constant(6))) == 720


def test_mutual_recursion():
    @gyre.function
    def even(n):
        if n == 0:
            return True
        return odd(n - 1)

    @gyre.function
    def odd(n):
        if n == 0:
            return False
        return even(n - 1)

    assert [bool(even(gyre.constant(n))) for n in (0, 1, 10, 11)] == [True, False, True, False]


def test_recursion_over_a_tree():
    @gyre.function
    def tree_sum(x):
        n = gyre.shape(x)[0]
        if n == 1:
            return x[0]
        half = n // 2
        return tree_sum(x[:half]) + tree_sum(x[half:])

    assert int(tree_sum(gyre.range(9))) == 36


def test_recursion_with_structures():
    @gyre.function
    def divide(a, b):
        if a < b:
            return 0, a
        q, r = divide(a - b, b)
        return q + 1, r

    q, r = divide(gyre.constant(17), gyre.constant(5))
    assert (int(q), int(r)) == (3, 2)


def test_ackermann():
    @gyre.function
    def ackermann(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return ackermann(m - 1, 1)
        return ackermann(m - 1, ackermann(m, n - 1))

    assert int(ackermann(gyre.constant(2), gyre.constant(2))) == 7


def test_gradients_through_a_call():
    f = gyre.function(lambda x, y: x * x * y)
    x, y = gyre.constant(3.0), gyre.constant(2.0)
    with gyre.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y) * 2.0
    dx, dy = tape.gradient(z, [x, y])
    assert float(dx) == 24 and float(dy) == 18


def test_gradients_to_variables_and_captures():
    v, k = gyre.Variable(3.0), gyre.constant(2.0)
    f = gyre.function(lambda x: x * v * k)
    with gyre.GradientTape() as tape:
        tape.watch(k)
        y = f(gyre.constant(5.0))
    dv, dk = tape.gradient(y, [v, k])
    assert float(dv) == 10 and float(dk) == 15


def test_gradients_through_control_flow():
    @gyre.function
    def power(x, n):
        y = gyre.constant(1.0)
        for i in range(n):
            if i % 2 == 0:
                y = y * x
            else:
                y = y * x * 2.0
        return y

    x = gyre.constant(1.5)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = power(x, gyre.constant(4))
    assert float(y) == pytest.approx(4 * 1.5**4)
    assert float(tape.gradient(y, x)) == pytest.approx(16 * 1.5**3)


def test_gradients_inside():
    @gyre.function
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x
            while y < 100.0:
                y = y * x
        return tape.gradient(y, x)

    assert float(f(gyre.constant(3.0))) == pytest.approx(5 * 3.0**4)


def test_training_step():
    w = gyre.Variable(0.0)

    @gyre.function
    def step(x, y):
        with gyre.GradientTape() as tape:
            loss = (w * x - y) ** 2
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    losses = [float(step(gyre.constant(1.0), gyre.constant(2.0))) for _ in range(20)]
    assert losses[-1] < 1e-3 < losses[0]


def test_retracing_is_mentioned_with_its_cause():
    f, _ = counting(lambda x, n: x * n)
    with pytest.warns(
        UserWarning, match="argument 1 changed from the Python int 3 to the Python int 4|n changed"
    ):
        for n in range(6):
            f(gyre.constant(1), n)


def test_quiet_where_traces_are_few():
    f, _ = counting(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 8):
            f(gyre.ones([n]))


def test_threads():
    f, traces = counting(lambda x: x + 1)
    results = []
    threads = [
        threading.Thread(target=lambda k=k: results.append(int(f(gyre.constant(k)))))
        for k in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(1, 17)) and len(traces) == 1


def test_lists_that_grow_come_out_as_lists():
    @gyre.function
    def f(n):
        out = []
        for i in range(n):
            out.append(i * 2)
        return {"values": out, "n": n}

    out = f(gyre.constant(4))
    assert [int(v) for v in out["values"]] == [0, 2, 4, 6]


def test_composites():
    @gyre.function
    def f(r):
        return r * 2

    out = f(gyre.ragged.constant([[1, 2], [3]]))
    assert out.to_list() == [[2, 4], [6]]


def test_tensor_array_in_and_out():
    @gyre.function
    def fill(n):
        ta = gyre.TensorArray(gyre.int32, size=n, element_shape=[])
        for i in range(n):
            ta = ta.write(i, i * 3)
        return ta.stack()

    assert fill(gyre.constant(4)).numpy().tolist() == [0, 3, 6, 9]


def test_order_of_effects(capfd):
    @gyre.function
    def f(n):
        for i in range(n):
            if i % 2 == 0:
                gyre.print("even", i)
            else:
                gyre.print("odd", i)
        return n

    f(gyre.constant(4))
    assert capfd.readouterr().err.split("\n")[:4] == ["even 0", "odd 1", "even 2", "odd 3"]


def test_exceptions_of_host_functions_come_out():
    class Mine(Exception):
        pass

    def fail(x):
        raise Mine("here")

    f = gyre.function(lambda x: gyre.py_function(fail, [x], gyre.float32))
    with pytest.raises(Mine, match="here"):
        f(gyre.constant(1.0))


def test_attributes():
    def fn(x):
        """Doc."""
        return x

    f = gyre.function(fn)
    assert (
        f.python_function is fn and f.__doc__ == "Doc." and f.__wrapped__ is fn and f.name == "fn"
    )


def test_method_of_a_temporary_object():
    class Model:
        @gyre.function
        def twice(self, x):
            return x * 2

    assert float(Model().twice(gyre.constant(1.0))) == 2
    method = Model().twice
    assert float(method(gyre.constant(2.0))) == 4 and method.name == "twice"
    assert method.get_concrete_function(gyre.constant(1.0))(gyre.constant(3.0)).numpy() == 6


def test_structures_that_are_not_those_of_the_input_signature():
    spec = gyre.TensorSpec([], gyre.float32)

    @gyre.function(input_signature=[{"a": spec, "b": (spec,)}])
    def f(d):
        return d["a"] * d["b"][0]

    one = gyre.constant(1.0)
    assert float(f({"b": [one], "a": one})) == 1
    for given, says in (
        ({"a": one, "c": (one,)}, r"a dict with the keys \['a', 'c'\] where .* keys \['a', 'b'\]"),
        ({"a": one}, r"a dict with the keys \['a'\]"),
        ([one, one], "a list where"),
        (
            {"a": one, "b": (one, one)},
            "a tuple of 2 items where its input_signature says a tuple of 1",
        ),
        ({"a": one, "b": one}, "a Tensor where"),
    ):
        with pytest.raises(TypeError, match=f"f was given .*{says}"):
            f(given)
