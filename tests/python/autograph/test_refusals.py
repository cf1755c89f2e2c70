"""What cannot be traced is refused: with the line, the names, the reason, and a way out."""

import inspect
import traceback

import pytest

import gyre


def refused(fn, *args, error=TypeError):
    """The message; the last frame of the traceback is of this file, and one frame at most is Gyre's."""
    with pytest.raises(error) as caught:
        gyre.function(fn)(*(gyre.constant(arg) for arg in args))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].filename == __file__
    assert sum("/gyre/_impl/" in frame.filename for frame in frames) <= 1
    return str(caught.value)


def line(fn, text):
    """ "test_refusals.py:12" of the line of fn that holds a text."""
    lines, first = inspect.getsourcelines(fn)
    number = next(i for i, part in enumerate(lines) if text in part)
    return f"test_refusals.py:{first + number}"


def test_name_in_one_branch_only():
    def f(x):
        if x > 0:
            y = 1
        return y
    message = refused(f, 1.0, error=UnboundLocalError)
    assert "'y'" in message and line(f, "if x > 0") in message and "Assign it before the if" in message


def test_structure_differs_in_branches():
    def f(x):
        if x > 0:
            y = 1
        else:
            y = (1, 2)
        return y
    message = refused(f, 1.0)
    assert "'y'" in message and line(f, "if x > 0") in message and "a tuple of 2" in message


def test_dtype_differs_in_branches():
    def f(x):
        if x > 0:
            y = x
        else:
            y = gyre.cast(x, gyre.int32)
        return y
    message = refused(f, 1.0)
    assert "float32" in message and "int32" in message and "'y'" in message


def test_none_becomes_tensor_in_loop():
    def f(n):
        best = None
        i = 0
        while i < n:
            best = i
            i += 1
        return best
    message = refused(f, 3)
    assert "'best'" in message and line(f, "while i < n") in message
    assert "Before the loop it is None" in message and "int32 tensor" in message


def test_dtype_changes_in_loop():
    def f(n, x):
        s = gyre.constant(0)
        for i in range(n):
            s = x
        return s
    message = refused(f, 3, 1.5)
    assert "'s'" in message and "int32" in message and "float32" in message and line(f, "for i") in message


def test_structure_changes_in_loop():
    def f(n):
        s = (0, 1)
        while n > 0:
            s = (0, 1, 2)
            n -= 1
        return s
    message = refused(f, 3)
    assert "'s'" in message and "structure" in message and line(f, "while n") in message


def test_python_object_changes_in_loop():
    def f(n):
        kind = object()
        for i in range(n):
            kind = object()
        return i if kind else n
    assert "'kind'" in refused(f, 3)


def test_append_to_outer_list():
    outer = []

    def f(n):
        for i in range(n):
            outer.append(i)
        return n
    message = refused(f, 3)
    assert "append()" in message and line(f, "outer.append") in message and line(f, "for i") in message
    assert "TensorArray" in message


def test_append_to_attribute():
    class Holder:
        def __init__(self):
            self.items = []
    holder = Holder()

    def f(n):
        for i in range(n):
            holder.items.append(i)
        return n
    assert "older" in refused(f, 3)


def test_attribute_changed_by_a_call():
    class Counter:
        count = 0

        def __init__(self):
            self.total = 0

        def add(self, x):
            self.total = self.total + x
    counter = Counter()

    def f(n):
        for i in range(n):
            counter.add(i)
        return n
    message = refused(f, 3)
    assert "counter.total" in message and "gyre.Variable" in message


def test_return_on_some_paths():
    def f(n):
        if n > 0:
            return n
    message = refused(f, 3)
    assert "f returns a value on some paths only" in message and line(f, "if n > 0") in message


def test_match_over_classes():
    def f(n):
        match n:
            case [a, b]:
                return a
        if n > 0:
            n = n + 1
        return n
    message = refused(f, 3)
    assert "match" in message and "if and elif" in message and line(f, "case [a, b]") in message.replace(
        __file__, "test_refusals.py")


def test_generator():
    def numbers(n):
        if n > 0:
            yield 1
        yield 2

    def f(n):
        s = 0
        for i in numbers(n):
            s += i
        return s
    with pytest.raises(TypeError):
        gyre.function(f)(gyre.constant(1))


def test_async():
    async def f(x):
        return x
    with pytest.raises(TypeError, match="async"):
        gyre.function(f)


def test_recursion_on_all_paths():
    @gyre.function
    def f(n):
        return f(n - 1)
    with pytest.raises(TypeError, match="calls itself on all paths"):
        f(gyre.constant(3))


def test_loop_that_makes_no_iteration():
    @gyre.function
    def f(n):
        for i in range(n):
            y = i * 2
        return y
    assert int(f(gyre.constant(3))) == 4
    with pytest.raises(gyre.errors.InvalidArgumentError, match="y has no value: the loop at test_refusals.py"):
        f(gyre.constant(0))


def test_not_converted():
    @gyre.autograph.do_not_convert
    def helper(x):
        if x > 0:
            return x
        return -x

    def f(x):
        return helper(x)
    assert "truth" in refused(f, 1.0)


def test_iterating_a_scalar():
    def f(x):
        for y in x:
            x = y
        return x
    assert "scalar" in refused(f, 1.0)


def test_result_that_is_no_tensor():
    def f(x):
        return object()
    with pytest.raises(TypeError, match="returns a object"):
        gyre.function(f)(gyre.constant(1))


def test_assert_statement():
    @gyre.function
    def f(x):
        assert x > 0, "x is not positive"
        return x
    assert float(f(gyre.constant(1.0))) == 1
    with pytest.raises(gyre.errors.InvalidArgumentError, match="x is not positive"):
        f(gyre.constant(-1.0))


def test_errors_of_runs_name_the_line():
    def f(x, y):
        z = x + 1
        return z // y
    traced = gyre.function(f)
    with pytest.raises(gyre.errors.OpError) as caught:
        traced(gyre.constant(1), gyre.constant(0))
    assert line(f, "z // y") in str(caught.value)


def test_errors_while_tracing_show_the_line():
    def f(x):
        y = x + 1
        return undefined_name + y  # noqa: F821
    with pytest.raises(NameError) as caught:
        gyre.function(f)(gyre.constant(1))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "f")
    assert f"test_refusals.py:{last.lineno}" == line(f, "undefined_name")


def test_long_python_loops_are_mentioned():
    @gyre.function
    def f(x):
        i = 0
        while i < 3100:
            i += 1
        return x
    with pytest.warns(UserWarning, match="3000 iterations"):
        f(gyre.constant(1))


def test_loop_options():
    @gyre.function
    def f(n):
        i = 0
        while i < n:
            gyre.autograph.experimental.set_loop_options(maximum_iterations=4, parallel_iterations=2)
            i += 1
        for _ in range(n):
            gyre.autograph.set_loop_options(maximum_iterations=3)
            i += 100
        return i
    assert int(f(gyre.constant(10))) == 304


def test_shape_invariants():
    @gyre.function
    def f(n):
        v = gyre.zeros([0], gyre.int32)
        for i in range(n):
            gyre.autograph.experimental.set_loop_options(shape_invariants=[(v, gyre.TensorShape([None]))])
            v = gyre.concat([v, [i]], 0)
        return v
    assert f(gyre.constant(3)).numpy().tolist() == [0, 1, 2]


def test_to_graph():
    def f(x):
        if x > 0:
            return x
        return -x
    converted = gyre.autograph.to_graph(f)
    assert float(converted(gyre.constant(-2.0))) == 2
    assert float(gyre.function(converted, autograph=False)(gyre.constant(-2.0))) == 2
    assert "if_stmt" in gyre.autograph.to_code(f)


def test_printing(capfd):
    @gyre.function
    def f(n):
        for i in range(n):
            print("i is", i)
        return n
    f(gyre.constant(3))
    assert capfd.readouterr().out == "i is 0\ni is 1\ni is 2\n"


def test_items_that_a_loop_defines():
    @gyre.function
    def f(n):
        box = {}
        for i in range(n):
            box["v"] = i
        return box["v"] + 1
    assert int(f(gyre.constant(3))) == 3
    with pytest.raises(gyre.errors.InvalidArgumentError, match="has no value: the loop at test_refusals.py"):
        f(gyre.constant(0))


def test_attributes_that_a_branch_defines():
    class Thing:
        pass

    def f(x):
        thing = Thing()
        if x > 0:
            thing.y = x
        return x
    message = refused(f, 1.0, error=UnboundLocalError)
    assert "'thing.y'" in message and line(f, "if x > 0") in message


def test_tensors_of_a_body_stay_there():
    def f(n):
        kept = None

        def body(i):
            nonlocal kept
            kept = i * 2
            return i + 1
        gyre.while_loop(lambda i: i < n, body, [0])
        return kept + 1
    message = refused(f, 3, error=gyre.errors.InvalidArgumentError)
    assert line(f, "kept = i * 2") in message and line(f, "gyre.while_loop") in message
