"""Items of tensors that are assigned, as numpy does it, and items of lists at traced indices."""

import gc
import inspect
import types

import numpy as np
import pytest

import gyre

V = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def by_index(v, i):
    v[i] = 7.0
    return v


def by_two_indices(v, i):
    v[i][i + 1] = 7.0
    v[0][-1] += v[i, 0]
    return v


def by_pair(v, i):
    v[i, 2] *= 3.0
    v[-1, i] = v[0, i] + 1.0
    return v


def by_slices(v, i):
    v[:, 1] = 8.0
    v[i:, :2] -= 1.0
    v[0:1] = v[1:2]
    v[..., 2] = v[..., 0] * 2.0
    return v


def by_mask(v, i):
    v[v > 3.0] = 0.0
    return v


def of_slice(v, i):
    v[1:][0][i] = 9.0
    return v


def in_branches(v, i):
    if i > 0:
        v[0][1] = 9.0
    else:
        v[i] = v[i] * 10.0
        v[1][2] += 1.0
    return v


def in_loops(v, i):
    for j in range(i + 1):
        for k in range(i + 2):
            if v[j, k] > 2.0:
                v[j, k] = v[j, k] * 10.0
            else:
                v[j][k] -= 1.0
    return v


def under_keys(v, i):
    found = {"a": v, "b": [v[0] * 1.0, v[1] * 1.0]}
    for j in range(i + 1):
        found["a"][j] = found["b"][j] * 2.0
    if i > 0:
        found["b"][0][1] = 8.0
    found["b"][1][i] = 3.0
    found["b"][i - 1] += 1.0
    return found["a"], found["b"]


class Holder:
    def __init__(self, v):
        self.x, self.rows, self.count = v, [1, 2, 3], 0


def of_attributes(v, i):
    holder = Holder(v)
    for j in range(i + 1):
        holder.x[j][0] = 6.0
        holder.rows[j] = j * 10
    if i > 0:
        holder.x[0] += 1.0
    holder.rows[i] += 7
    return holder.x, holder.rows


def of_objects(v, i):
    holders = [Holder(v[0] * 1.0), Holder(v[1] * 1.0)]
    holders[i].count = 5
    holders[i].x[0] = 2.0
    if i > 0:
        holders[0].rows[1] = 4
    return [holder.count for holder in holders], [holder.x for holder in holders], holders[0].rows


def of_rows(v, i):
    rows = [v[0] * 1.0, v[1] * 1.0]
    rows[i][2] = 5.0
    total = rows[i] * 0.0
    for k in range(i + 1):
        rows[k][k] += 1.0
        total = total + rows[k] + rows[-k]
    return rows, total


def several_targets(v, i):
    a = v[i] = v[0] + 1.0
    v[0][0], (v[1, i], b) = v[1][1], (v[0][2], 3.0)
    return a, v, b


FUNCTIONS = [
    by_index,
    by_two_indices,
    by_pair,
    by_slices,
    by_mask,
    of_slice,
    in_branches,
    in_loops,
    under_keys,
    of_attributes,
    of_objects,
    of_rows,
    several_targets,
]


def same(expected, found):
    for want, have in zip(gyre.nest.flatten(expected), gyre.nest.flatten(found), strict=True):
        np.testing.assert_allclose(np.asarray(have), want, rtol=1e-6)


@pytest.mark.parametrize("dims", [[2, 3], [None, None]], ids=["known", "unknown"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_as_numpy(fn, dims):
    traced = gyre.function(
        fn, input_signature=[gyre.TensorSpec(dims, gyre.float32), gyre.TensorSpec([], gyre.int32)]
    )
    for i in (0, 1):
        given = gyre.constant(V)
        expected = fn(np.array(V, np.float32), i)
        same(expected, traced(given, gyre.constant(i)))
        assert given.numpy().tolist() == V


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_at_python_indices(fn):
    same(fn(np.array(V, np.float32), 1), gyre.function(lambda v: fn(v, 1))(gyre.constant(V)))


def test_other_names_of_a_tensor_keep_it():
    @gyre.function
    def f(v):
        w = v
        w[0] = 5.0
        return v, w

    v, w = f(gyre.constant([1.0, 2.0]))
    assert v.numpy().tolist() == [1, 2] and w.numpy().tolist() == [5, 2]


def test_gradients():
    @gyre.function
    def f(v, x, i):
        v[i] = x * 3.0
        rows = [v[0] * 2.0, v[1] * 4.0]
        rows[i] = rows[i - 1] * x
        return rows[0] + rows[1] + rows[i]

    v, x = gyre.constant([1.0, 2.0]), gyre.constant(5.0)
    with gyre.GradientTape() as tape:
        tape.watch([v, x])
        y = f(v, x, gyre.constant(1))
    assert float(y) == 2 + 10 + 10
    dv, dx = tape.gradient(y, [v, x])
    assert dv.numpy().tolist() == [2 + 10 + 10, 0] and float(dx) == 4


def read_list(values, i):
    return [values[0] * 1.0, values[1] * 1.0][i]


def write_list(values, i):
    made = [values[0] * 1.0, values[1] * 1.0]
    made[i] = 3.0
    return made


def write_tensor(values, i):
    values[i] = 3.0
    return values


@pytest.mark.parametrize("fn", [read_list, write_list, write_tensor])
def test_indices_out_of_range_are_errors_of_the_run(fn):
    traced = gyre.function(fn)
    values = gyre.constant([1.0, 2.0])
    same(fn(np.array([1.0, 2.0]), -2), traced(values, gyre.constant(-2)))
    for i in (2, -3):
        with pytest.raises(
            gyre.errors.InvalidArgumentError,
            match=rf"index {i} .*out of bounds|= \[{i}\] does not index into shape",
        ) as caught:
            traced(values, gyre.constant(i))
        assert "test_items.py" in str(caught.value)


def test_rows_of_a_list_keep_their_names():
    @gyre.function
    def f(n):
        grid = [[1, 2], [3, 4]]
        first, last = grid
        grid[n][0] = 9
        if n > 0:
            grid[0][n] = 7
        else:
            grid[1][n] = 8
        last[n - 1] += 1
        return grid, first, last

    for n, want in ((0, [[9, 2], [8, 5]]), (1, [[1, 7], [10, 4]])):
        grid, first, last = f(gyre.constant(n))
        same(want, grid)
        same(want, [first, last])


def test_lists_take_the_dtype_of_what_loops_put_there():
    @gyre.function
    def f(x, n):
        table, grid = [0] * 3, [[0, 0] for _ in range(2)]
        for i in range(n):
            table[i] = x[i] * 0.5
        for i in range(n):
            for j in range(n):
                grid[i][j] = x[i] * x[j]
        return table, grid

    table, grid = f(gyre.constant([3.0, 4.0]), gyre.constant(2))
    same([1.5, 2, 0], table)
    same([[9, 12], [12, 16]], grid)
    assert {value.dtype.name for value in table} == {"float32"}


def test_lists_of_loops_become_lists_of_the_graph():
    @gyre.function
    def f(n):
        table = [0] * 200
        i = n * 0
        while i < n:
            if i > 1:
                table[i] = table[i - 1] + table[i - 2]
            else:
                table[i] = 1
            i += 1
        return table[n - 1]

    assert int(f(gyre.constant(20))) == 6765
    text = f.get_concrete_function(gyre.constant(20)).graph.text()
    assert text.count("= TensorListSetItem(") == 2 and text.count("= SelectV2(") < 10


def test_items_of_a_list_of_the_module_in_a_branch():
    @gyre.function
    def f(n):
        if n > 0:
            TABLE[0] = n
        found = TABLE[0]
        TABLE[0] = 1
        return found

    assert int(f(gyre.constant(3))) == 3 and int(f(gyre.constant(-3))) == 1 and TABLE == [1, 2]


TABLE = [1, 2]


def test_indices_that_a_branch_computes():
    @gyre.function
    def f(n):
        table = [0, 0, 0]
        if n > 0:
            i = 1
            table[i] = n
            table[i + 1] += table[i]
        return table

    same([0, 3, 3], f(gyre.constant(3)))
    same([0, 0, 0], f(gyre.constant(-3)))


def test_keys_are_computed_once():
    calls = []

    @gyre.function
    def f(v):
        def next_index():
            calls.append(0)
            return len(calls) - 1

        v[next_index()] += 5.0
        return v

    same(np.array([6, 2]), f(gyre.constant([1.0, 2.0])))
    assert len(calls) == 1


def test_variables_as_indices():
    index = gyre.Variable(1)

    @gyre.function
    def f(v):
        rows = [v[0], v[1]]
        rows[index] = v[0] * 5.0
        v[index] = 9.0
        return rows[index], v

    same([5, np.array([1, 9])], f(gyre.constant([1.0, 2.0])))
    index.assign(0)
    same([5, np.array([9, 2])], f(gyre.constant([1.0, 2.0])))


@pytest.mark.parametrize("x", [[4, 3], [0, 3]])
def test_a_name_and_its_items_are_assigned_in_one_block(x):
    def both(a):
        if a[0] > 1:
            a = a + 1
            a[0] = 2
        return a

    def either(a):
        if a[0] > 1:
            a[0] = 2
        else:
            a = a + 1
        return a

    def never(a):
        if a[0] > 1:
            if isinstance(a, list):
                a[0] = 2
            else:
                a = a + 1
        return a

    def looped(a):
        for i in range(2):
            a = a * 2
            a[i] = 1
        return a

    for f in (both, either, never, looped):
        got = gyre.function(f)(gyre.constant(x))
        np.testing.assert_array_equal(got, f(np.array(x)), err_msg=f.__name__)
    for_graph = gyre.function(looped_over_a_range)(gyre.constant(x), gyre.constant(2))
    np.testing.assert_array_equal(for_graph, looped(np.array(x)))


def looped_over_a_range(a, n):
    for i in gyre.range(n):
        a = a * 2
        a[i] = 1
    return a


# ---- Arrays of numpy

OLDER = np.zeros(3)
HOLDER = types.SimpleNamespace(rows=[np.zeros(2)])


def counted(n):
    s = np.zeros(3)
    for _ in gyre.range(n):
        s[0] += 1  # here: s
    return s


def at_a_traced_index(n):
    s = np.zeros(3)
    for i in gyre.range(n):
        s[i] = 1.0  # here: s
    return s


def in_a_branch(n):
    s = np.zeros((3, 2))
    if n > 2:
        s[0][1] = 1  # here: s[0]
    return s


def of_the_module(n):
    while n > 2:
        OLDER[:2] = 1.0  # here: OLDER
        n -= 1
    return n


def of_an_object(n):
    for _ in gyre.range(n):
        HOLDER.rows[0][1] = 1  # here: HOLDER.rows[0]
    return n


def of_a_tensor(n):
    s = np.zeros(3)
    s[0] = n  # here: s
    return s


@pytest.mark.parametrize(
    "fn", [counted, at_a_traced_index, in_a_branch, of_the_module, of_an_object, of_a_tensor]
)
def test_arrays_of_numpy_do_not_change_in_blocks(fn):
    lines, first = inspect.getsourcelines(fn)
    (line, name) = next((i, s.split("here: ")[1]) for i, s in enumerate(lines) if "here: " in s)
    with pytest.raises(TypeError) as caught:
        gyre.function(fn)(gyre.constant(5))
    assert f"at test_items.py:{first + line} is assigned in" in str(caught.value)
    assert f"{name.strip()} is a numpy array" in str(caught.value)
    assert f"gyre.zeros, or make it a tensor by gyre.constant({name.strip()})" in str(caught.value)
    assert not OLDER.any() and not HOLDER.rows[0].any()


def test_arrays_of_numpy_change_while_they_are_made():
    @gyre.function
    def f(n):
        made, held = np.zeros(3), np.array([None, None], dtype=object)
        for i in range(3):
            made[i] = i
        held[0] = n
        total = gyre.constant(made)
        for _ in gyre.range(n):
            own = np.zeros(3)
            if n < 0:
                total += 1.0
            own[1] = 2
            total += own
        return total, held[0]

    total, n = f(gyre.constant(5))
    assert total.numpy().tolist() == [0, 11, 2] and int(n) == 5


def test_arrays_that_were_seen_are_not_kept():
    from gyre._impl.tracing import effects

    @gyre.function
    def f(n):
        arrays = [np.zeros(3) for _ in range(20)]
        for array in arrays:
            array[0] = 1.0
        total = 0.0
        for _ in gyre.range(n):
            total += float(arrays[0][0])
        return total

    before = len(effects._active.arrays)
    assert float(f(gyre.constant(2))) == 2
    gc.collect()
    assert len(effects._active.arrays) <= before


def test_a_list_that_grows_is_a_list_that_may_be_empty():
    def leaves(n, stack):
        count = 0
        while stack:
            x = stack.pop()
            if x > 1:
                stack.append(x // 2)
                stack.append(x - x // 2)
            else:
                count += 1
        kinds = isinstance(stack, list), isinstance(stack, (dict, tuple)), type(stack) is list
        return count, not stack, kinds

    count, is_empty, kinds = gyre.function(lambda n: leaves(n, [n]))(gyre.constant(9))
    assert (int(count), bool(is_empty)) == (9, True)
    assert [bool(kind) for kind in kinds] == [True, False, True]


@pytest.mark.parametrize("method", ["count", "index"])
def test_what_a_list_that_grows_does_not_do_is_said(method):
    def numbers(n):
        made = []
        for i in gyre.range(n):
            made.append(i)
        return made

    with pytest.raises(TypeError, match="has no comparison with a list"):
        gyre.function(lambda n: numbers(n) == [0, 1])(gyre.constant(2))
    with pytest.raises(TypeError, match=rf"has no {method}\(\)"):
        gyre.function(lambda n: getattr(numbers(n), method)(1))(gyre.constant(2))
