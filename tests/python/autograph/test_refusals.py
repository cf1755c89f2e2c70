"""What cannot be traced is refused: with the line, the names, the reason, and a way out."""

import math
import re
import sys
import traceback

import pytest

import gyre
from refusing import line, refused


def test_name_in_one_branch_only():
    def f(x):
        if x > 0:
            y = 1
        return y

    message = refused(f, 1.0, error=UnboundLocalError)
    assert (
        "'y'" in message and line(f, "if x > 0") in message and "Assign it before the if" in message
    )


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
    assert (
        "'s'" in message
        and "int32" in message
        and "float32" in message
        and line(f, "for i") in message
    )


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
    assert (
        "append()" in message and line(f, "outer.append") in message and line(f, "for i") in message
    )
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
    with pytest.raises(
        gyre.errors.InvalidArgumentError, match="y has no value: the loop at test_refusals.py"
    ):
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


def test_items_of_tensors_that_nobody_reads():
    def f(v):
        v[0] = 1.0
        return 0

    message = refused(f, [1.0, 2.0])
    assert f"v[0] at {line(f, 'v[0]')} has no effect" in message and "Return v" in message


def test_items_of_tensors_of_a_scope_around():
    v = gyre.constant([1.0, 2.0])

    def f(x):
        v[0] = x
        return v[0]

    message = refused(f, 3.0)
    assert f"v[0] at {line(f, 'v[0] = x')}" in message and "gyre.Variable" in message


def test_items_of_tensors_of_another_dtype():
    def f(v, n):
        v[0] = n
        return v

    message = refused(f, [1.0, 2.0], 3)
    assert (
        "float32" in message
        and "int32" in message
        and line(f, "v[0]") in message
        and "cast" in message
    )


def test_tensors_as_keys():
    def f(n):
        return {1: 10, 2: 20}[n]

    assert "key of a dict" in refused(f, 2) and "gyre.gather" in refused(f, 2)


def test_comprehension_over_a_traced_range():
    def f(n):
        return [i * i for i in range(n)]

    message = refused(f, 3)
    assert "comprehensions" in message and "append()" in message


def test_loop_over_a_function_object():
    def f(n):
        last = None
        for i in range(n):
            last = lambda: i
        return last()

    message = refused(f, 3)
    assert "'last'" in message and line(f, "for i") in message and "a function" in message


def test_structure_of_while_else():
    def f(n):
        k = 0
        while k < n:
            k += 1
            if k == 5:
                break
        else:
            k = (1, 2)
        return k

    message = refused(f, 3)
    assert "'k'" in message and "a tuple of 2" in message and line(f, "while k") in message


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
            gyre.autograph.experimental.set_loop_options(
                maximum_iterations=4, parallel_iterations=2
            )
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
            gyre.autograph.experimental.set_loop_options(
                shape_invariants=[(v, gyre.TensorShape([None]))]
            )
            v = gyre.concat([v, [i]], 0)
        return v

    assert f(gyre.constant(3)).numpy().tolist() == [0, 1, 2]


def test_a_return_of_another_kind_than_one_before_it():
    @gyre.function
    def f(n):
        for i in range(n):
            if i > 3:
                return i
        return None

    with pytest.raises(TypeError) as told:
        f(gyre.constant(7))
    assert re.search(
        r"what is returned differs: its structure changes; at test_refusals.py:\d+ it is None, "
        r"before that an int32 tensor of shape \[\]. Return the same kind everywhere",
        str(told.value),
    )


@pytest.mark.parametrize("loop", ["for", "while", "break"])
def test_shape_invariants_beside_a_list_that_grows(loop):
    @gyre.function
    def f(n):
        v, seen, i = gyre.zeros([0], gyre.int32), [], 0
        if loop == "while":
            while i < n:
                gyre.autograph.experimental.set_loop_options(
                    shape_invariants=[(v, gyre.TensorShape([None]))]
                )
                v = gyre.concat([v, [i]], 0)
                seen.append(gyre.reduce_sum(v))
                i += 1
        else:
            for i in range(n):
                gyre.autograph.experimental.set_loop_options(
                    shape_invariants=[(v, gyre.TensorShape([None]))]
                )
                v = gyre.concat([v, [i]], 0)
                seen.append(gyre.reduce_sum(v))
                if loop == "break" and i > 5:
                    break
        return v, gyre.stack(seen)

    v, sums = f(gyre.constant(4))
    assert v.numpy().tolist() == [0, 1, 2, 3]
    assert sums.numpy().tolist() == [0, 1, 3, 6]


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
    with pytest.raises(
        gyre.errors.InvalidArgumentError, match="has no value: the loop at test_refusals.py"
    ):
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


def test_raise_where_a_tensor_decides():
    def f(x):
        if x > 0:
            raise ValueError("positive")
        return x

    with pytest.raises(ValueError, match="positive") as caught:
        gyre.function(f)(gyre.constant(-1.0))
    (note,) = caught.value.__notes__
    assert line(f, "if x > 0") in note and "assert" in note

    def g(n):
        while n > 0:
            if n > 3:
                raise KeyError(n)
            n -= 1
        return n

    with pytest.raises(KeyError) as caught:
        gyre.function(g)(gyre.constant(1))
    (note,) = caught.value.__notes__
    assert line(g, "if n > 3") in note


def test_items_of_python_lists_of_different_kinds():
    def f(n):
        table = [0, 0.5, "a"]
        for i in range(n):
            table[i] = i
        return table

    message = refused(f, 3)
    assert (
        "all items must be alike" in message
        and "float32" in message
        and "gyre.switch_case" in message
    )
    assert line(f, "table[i]") in message


@pytest.mark.parametrize(
    "items",
    [
        lambda x: [x, None],
        lambda x: (x, [x, x]),
        lambda x: [x, object()],
        lambda x: [x, gyre.stack([x, x])],
    ],
    ids=["none", "structure", "object", "shape"],
)
def test_reading_items_of_different_kinds(items):
    def f(x, n):
        values = items(x)
        return values[n]

    message = refused(f, 1.0, 0)
    assert "all items must be alike" in message and line(f, "values[n]") in message


def test_items_of_different_shapes_that_are_assigned():
    def f(x, n):
        values = [x, x]
        values[n] = gyre.stack([x, x])
        return values

    message = refused(f, 1.0, 0)
    assert "their shapes differ" in message and line(f, "values[n]") in message


def test_reading_an_item_where_there_is_none():
    def f(n):
        values = []
        return values[n]

    assert line(f, "return") in refused(f, 0, error=IndexError)


def test_keys_of_a_dict_that_a_run_tells():
    def f(n):
        found = {0: 1, 1: 2}
        found[n] = 3
        return found

    message = refused(f, 1)
    assert f"found[n] at {line(f, 'found[n]')}" in message and "dict" in message


def test_item_of_a_list_that_is_older_than_the_loop():
    rows = [[0.0, 0.0], [0.0, 0.0]]

    def f(x):
        for i in range(2):
            if x > i:
                for row in rows:
                    row[i] = x
        return rows[0][0]

    message = refused(f, 1.0)
    assert "row[i]" in message and "older than the traced if" in message


def test_items_of_a_dict_under_changing_keys():
    def f(n):
        found = {}
        key = "a"
        while n > 0:
            found[key] = n
            key = key + "a"
            n -= 1
        return n

    message = refused(f, 2)
    assert "'key'" in message or "found[key]" in message


def test_assert_says_the_values_of_a_formatted_message():
    def f(x):
        assert x > 0, f"{x} is not positive"
        return x

    with pytest.raises(gyre.errors.InvalidArgumentError, match="-2.*is not positive"):
        gyre.function(f)(gyre.constant(-2))


def test_recursion_of_a_function_that_is_none_of_the_graph():
    def factorial(k):
        if k <= 1:
            return 1
        return k * factorial(k - 1)

    def f(n):
        return factorial(n)

    with pytest.raises(RecursionError) as caught:
        gyre.function(f)(gyre.constant(5))
    message = str(caught.value)
    assert line(factorial, "def factorial") in message and "make it a gyre.function" in message


def test_conditionals_within_each_other_beyond_what_python_allows():
    def nested(depth, x):
        if not depth:
            return x
        return gyre.cond(x > depth, lambda: nested(depth - 1, x + 1), lambda: x)

    before = sys.getrecursionlimit()
    with pytest.raises(RecursionError) as caught:
        gyre.function(lambda x: nested(before, x), autograph=False)(gyre.constant(1))
    message = str(caught.value)
    assert "nested at" in message and f"the {before} nested calls that Python allows" in message
    assert "without end" not in message and "sys.setrecursionlimit" in message
    try:
        sys.setrecursionlimit(20 * before)
        result = gyre.function(lambda x: nested(200, x), autograph=False)(gyre.constant(150))
    finally:
        sys.setrecursionlimit(before)
    assert int(result) == 150


def test_bare_return_beside_a_value():
    def f(n):
        if n > 100:
            return
        return n

    assert "what is returned differs in the branches" in refused(f, 3)


def test_except_of_what_a_traced_branch_raises():
    def f(n):
        try:
            if n > 5:
                raise ValueError("too large")
            found = 1
        except ValueError:
            found = 2
        return found

    message = refused(f, 3)
    assert (
        line(f, "if n > 5") in message
        and line(f, "except") in message
        and "whatever the value" in message
    )


def test_except_of_what_python_raises_in_a_branch():
    @gyre.function
    def f(n):
        try:
            if n is None:
                raise ValueError("nothing")
            found = {}["a"]
        except (ValueError, KeyError):
            found = n
        return found

    assert int(f(gyre.constant(3))) == 3


@pytest.mark.parametrize("kind", ["list", "sum", "dict"])
def test_comprehensions_that_choose_by_a_tensor(kind):
    def f(v):
        if kind == "list":
            return [x for x in v if x > 0]
        if kind == "sum":
            return sum(x for x in v if x > 0)
        return {1: x for x in v if x > 0}

    message = refused(f, [1.0, -2.0])
    text = {"list": "return [", "sum": "sum(", "dict": "return {"}[kind]
    assert f"the comprehension at {line(f, text)}" in message and "boolean_mask" in message


def test_names_bound_in_later_operands():
    def f(n):
        if n > 1 and (k := n * 2) > 3:
            return k
        return n

    message = refused(f, 3)
    assert line(f, "if n > 1") in message and "`and`" in message and "of its own" in message


def test_functions_of_math_that_no_graph_has():
    def f(n):
        return math.gcd(n, 12)

    message = refused(f, 3)
    assert f"math.gcd at {line(f, 'gcd')}" in message


def test_sorting_rows():
    def f(v):
        return sorted([v, v * 2.0])

    assert f"sorted() at {line(f, 'return')}" in refused(f, [1.0, 2.0])


def test_structure_of_a_container_differs_in_branches():
    def f(n):
        found = {"a": 1}
        if n > 5:
            found.pop("a")
        return found

    assert "'found' differs in the branches" in refused(f, 3)

    def g(n):
        seen = set()
        for i in range(n):
            seen.add(1)
        return len(seen)

    assert "'seen'" in refused(g, 3)


def test_methods_that_a_list_of_the_graph_has_not():
    def f(n):
        values = []
        for i in range(n):
            values.insert(0, i)
        return values

    message = refused(f, 3)
    assert "insert()" in message and "append" in message


def test_a_function_without_source_is_to_be_put_into_a_file():
    names = {"gyre": gyre}
    exec("def f(x):\n  if x > 0:\n    return x\n  return -x", names)
    with pytest.raises(TypeError, match="cannot be read .*Put the function into a file"):
        gyre.function(names["f"])(gyre.constant(1.0))


def grown(n):
    values = [0.0]
    for i in range(n):
        values.append(1.0)
    return values


def deleted(n):
    values = grown(n)
    del values[0]
    return values


def multiplied(n):
    return grown(n) * 2


def slice_assigned(n):
    values = grown(n)
    values[1:] = [1.0]
    return values


def joined_with_a_tuple(n):
    return grown(n) + (1.0,)


def joined_to_a_tuple(n):
    return (1.0,) + grown(n)


def sorted_in_place(n):
    values = grown(n)
    values.sort()
    return values


@pytest.mark.parametrize(
    "function",
    [deleted, multiplied, slice_assigned, joined_with_a_tuple, joined_to_a_tuple, sorted_in_place],
)
def test_what_lists_that_grow_cannot_do_is_told_without_what_they_are_inside(function):
    with pytest.raises(TypeError) as caught:
        gyre.function(function)(gyre.constant(3))
    assert "list" in str(caught.value)
    assert "Traced" not in str(caught.value)
