"""Each construct of the control flow API, in small programs."""

import collections

import numpy as np

import gyre

from . import program

Point = collections.namedtuple("Point", "x y")


# ---- cond


@program(lambda x: abs(x), (3.0,), (-3.0,))
def cond_value(x):
    return gyre.cond(x > 0, lambda: x, lambda: -x)


@program(lambda x: (x, 1) if x > 0 else (-x, 2), (3.0,), (-3.0,))
def cond_tuple(x):
    return gyre.cond(x > 0, lambda: (x, 1), lambda: (-x, 2))


@program(lambda x: {"a": x, "b": [2 * x]} if x > 0 else {"a": -x, "b": [x]}, (3.0,), (-3.0,))
def cond_structure(x):
    return gyre.cond(x > 0, lambda: {"a": x, "b": [x * 2]}, lambda: {"a": -x, "b": [x]})


@program(lambda x: Point(x, x * 2) if x > 0 else Point(x * 2, x), (3.0,), (-3.0,))
def cond_named_tuple(x):
    return gyre.cond(x > 0, lambda: Point(x, x * 2), lambda: Point(x * 2, x))


@program(
    lambda x, y: (1 if y > 0 else 2) if x > 0 else (3 if y > 0 else 4),
    (1, 1),
    (1, -1),
    (-1, 1),
    (-1, -1),
)
def cond_nested(x, y):
    return gyre.cond(
        x > 0,
        lambda: gyre.cond(y > 0, lambda: 1, lambda: 2),
        lambda: gyre.cond(y > 0, lambda: 3, lambda: 4),
    )


@program(lambda v: v[:2] if v[0] > 0 else np.asarray(v), ([1.0, 2.0, 3.0],), ([-1.0, 2.0, 3.0],))
def cond_shapes_differ(v):
    return gyre.cond(v[0] > 0, lambda: v[:2], lambda: v)


@program(lambda x: 6 // x if x != 0 else -1, (2,), (0,))
def cond_untaken_would_fail(x):
    return gyre.cond(x != 0, lambda: 6 // x, lambda: -1)


@program(lambda x: None, (1,), (-1,))
def cond_without_results(x):
    return gyre.cond(x > 0, lambda: None, lambda: None)


@program(lambda x: x * 2, (3.0,))
def cond_python_predicate(x):
    return gyre.cond(True, lambda: x * 2, lambda: x)


@program(lambda x: x + 1 if x > 0 else x, (3,), (-3,))
def cond_named_branches(x):
    def plus():
        return x + 1

    def same():
        return x

    return gyre.cond(x > 0, plus, same, name="choice")


# ---- case, switch_case


@program(lambda x: 1 if x < 0 else 2 if x < 10 else 3, (-1,), (5,), (50,))
def case_pairs(x):
    return gyre.case([(x < 0, lambda: 1), (x < 10, lambda: 2)], default=lambda: 3)


@program(lambda x: 1 if x < 0 else 2, (-1,), (5,))
def case_without_default(x):
    return gyre.case([(x < 0, lambda: 1), (x >= 0, lambda: 2)])


@program(lambda x: 1 if x < 0 else 2, (-1,), (5,))
def case_exclusive(x):
    return gyre.case([(x < 0, lambda: 1), (x >= 0, lambda: 2)], exclusive=True)


@program(lambda x: (x, 0) if x < 0 else (0, x), (-1,), (5,))
def case_structures(x):
    return gyre.case([(x < 0, lambda: (x, 0))], default=lambda: (0, x))


@program(lambda i: [10, 20, 30][i if 0 <= i < 3 else -1], (0,), (1,), (2,), (7,), (-1,))
def switch_out_of_range(i):
    return gyre.switch_case(i, [lambda: 10, lambda: 20, lambda: 30])


@program(lambda i: {0: 10, 1: 20}.get(i, 99), (0,), (1,), (2,), (-5,))
def switch_default(i):
    return gyre.switch_case(i, [lambda: 10, lambda: 20], default=lambda: 99)


@program(lambda i: [10, 20][i], (0,), (1,))
def switch_dict(i):
    return gyre.switch_case(i, {1: lambda: 20, 0: lambda: 10})


@program(lambda i: [10, 20][i], (0,), (1,))
def switch_pairs(i):
    return gyre.switch_case(i, [(1, lambda: 20), (0, lambda: 10)])


@program(lambda i, x: [(x, 1.0), (x * 2, 2.0), (x * 3, 3.0)][i], (0, 1.5), (1, 1.5), (2, 1.5))
def switch_captures(i, x):
    return gyre.switch_case(i, [lambda: (x, 1.0), lambda: (x * 2, 2.0), lambda: (x * 3, 3.0)])


@program(lambda i, j: i * 10 + j, (0, 1), (1, 0), (1, 1))
def switch_nested(i, j):
    return gyre.switch_case(
        i,
        [
            lambda: gyre.switch_case(j, [lambda: 0, lambda: 1]),
            lambda: gyre.switch_case(j, [lambda: 10, lambda: 11]),
        ],
    )


# ---- while_loop


@program(lambda n: (n, n * (n - 1) // 2), (0,), (1,), (10,))
def while_sum(n):
    return gyre.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))


@program(lambda n: [max(n, 0)], (0,), (5,))
def while_single(n):
    return gyre.while_loop(lambda i: i < n, lambda i: i + 1, [0])


@program(lambda n: [max(n, 0)], (0,), (5,))
def while_single_in_list(n):
    return gyre.while_loop(lambda i: i < n, lambda i: [i + 1], [0])


@program(lambda n: (n, {"a": 2.0**n, "b": [float(n)]}), (0,), (4,))
def while_nested_structure(n):
    return gyre.while_loop(
        lambda i, d: i < n,
        lambda i, d: (i + 1, {"a": d["a"] * 2.0, "b": [d["b"][0] + 1.0]}),
        (0, {"a": 1.0, "b": [0.0]}),
    )


@program(lambda n: (3,), (100,))
def while_maximum_iterations(n):
    return gyre.while_loop(lambda i: i < n, lambda i: (i + 1,), (0,), maximum_iterations=3)


@program(lambda n: (n, np.arange(n, dtype=np.int32)), (0,), (1,), (6,))
def while_growing_shape(n):
    return gyre.while_loop(
        lambda i, v: i < n,
        lambda i, v: (i + 1, gyre.concat([v, [i]], 0)),
        (0, gyre.zeros([0], gyre.int32)),
        shape_invariants=(gyre.TensorShape([]), gyre.TensorShape([None])),
    )


@program(lambda n: (n, np.arange(n, dtype=np.int32)), (0,), (5,))
def while_growing_shape_found_out(n):
    return gyre.while_loop(
        lambda i, v: i < n,
        lambda i, v: (i + 1, gyre.concat([v, [i]], 0)),
        (0, gyre.zeros([0], gyre.int32)),
    )


@program(lambda n: sum(i * j for i in range(n) for j in range(i)), (0,), (5,))
def while_nested(n):
    def outer(i, s):
        _, s = gyre.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + i * j), (0, s))
        return i + 1, s

    return gyre.while_loop(lambda i, s: i < n, outer, (0, 0))[1]


@program(lambda n: sum(i if i % 2 else -i for i in range(n)), (0,), (7,))
def while_with_cond(n):
    return gyre.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, gyre.cond(i % 2 == 0, lambda: s - i, lambda: s + i)),
        (0, 0),
    )[1]


@program(lambda n: Point(n, 2.0 * n), (4,))
def while_named_tuple(n):
    return gyre.while_loop(lambda x, y: x < n, lambda x, y: Point(x + 1, y + 2.0), Point(0, 0.0))


@program(lambda x, n: x * 2.0**n, (1.5, 4))
def while_parallel_iterations(x, n):
    return gyre.while_loop(
        lambda i, y: i < n, lambda i, y: (i + 1, y * 2), (0, x), parallel_iterations=1
    )[1]


@program(lambda a, b: np.gcd(a, b), (48, 36), (7, 5))
def while_gcd(a, b):
    return gyre.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))[0]


@program(lambda m, n: np.linalg.matrix_power(np.asarray(m), n), ([[1.0, 1.0], [1.0, 0.0]], 5))
def while_matrix_power(m, n):
    return gyre.while_loop(
        lambda i, p: i < n, lambda i, p: (i + 1, gyre.matmul(p, m)), (0, gyre.eye(2))
    )[1]


@program(lambda n: n, (5,))
def while_captures_python_and_tensor(n):
    one = 1
    return gyre.while_loop(lambda i: i < n, lambda i: (i + one,), (0,))[0]


# ---- map_fn, vectorized_map


@program(lambda v: np.asarray(v) ** 2, ([1.0, 2.0, 3.0],))
def map_square(v):
    return gyre.map_fn(lambda x: x * x, v)


@program(lambda v, w: np.asarray(v) * np.asarray(w), ([1.0, 2.0], [3.0, 4.0]))
def map_two(v, w):
    return gyre.map_fn(lambda pair: pair[0] * pair[1], (v, w), fn_output_signature=gyre.float32)


@program(lambda v: (np.asarray(v) + 1, np.asarray(v) > 1), ([1, 2, 3],))
def map_to_pair(v):
    return gyre.map_fn(lambda x: (x + 1, x > 1), v, fn_output_signature=(gyre.int32, gyre.bool))


@program(lambda m: np.asarray(m).sum(1), ([[1, 2], [3, 4]],))
def map_rows(m):
    return gyre.map_fn(lambda row: gyre.reduce_sum(row), m)


@program(lambda m: np.asarray(m) * 2, ([[1, 2], [3, 4]],))
def map_nested(m):
    return gyre.map_fn(lambda row: gyre.map_fn(lambda x: x * 2, row), m)


@program(lambda v: [abs(x) for x in v], ([1, -2, 3],))
def map_with_cond(v):
    return gyre.stack(
        [
            x
            for x in gyre.unstack(
                gyre.map_fn(lambda x: gyre.cond(x > 0, lambda: x, lambda: -x), v), num=3
            )
        ]
    )


@program(lambda v: np.asarray(v) * 3, ([1.0, 2.0],))
def map_vectorized(v):
    return gyre.vectorized_map(lambda x: x * 3, v)


@program(lambda v: {"s": np.asarray(v) + 1}, ([1, 2],))
def map_dict(v):
    return gyre.map_fn(lambda d: {"s": d["x"] + 1}, {"x": v}, fn_output_signature={"s": gyre.int32})


# ---- scan, foldl, foldr


@program(lambda v: np.cumsum(v), ([1.0, 2.0, 3.0],))
def scan_sum(v):
    return gyre.scan(lambda a, x: a + x, v)


@program(lambda v: np.cumsum(v) + 10, ([1.0, 2.0, 3.0],))
def scan_initializer(v):
    return gyre.scan(lambda a, x: a + x, v, initializer=10.0)


@program(lambda v: np.cumsum(v[::-1])[::-1], ([1.0, 2.0, 3.0],))
def scan_reverse(v):
    return gyre.scan(lambda a, x: a + x, v, reverse=True)


@program(lambda v: np.cumsum(v[::-1])[::-1] + 5, ([1.0, 2.0, 3.0],))
def scan_reverse_initializer(v):
    return gyre.scan(lambda a, x: a + x, v, initializer=5.0, reverse=True)


@program(lambda v: (np.cumsum(v), np.cumprod(v)), ([1.0, 2.0, 3.0],))
def scan_pair(v):
    return gyre.scan(lambda a, x: (a[0] + x, a[1] * x), v, initializer=(0.0, 1.0))


@program(lambda v: np.asarray([1, 1, 2, 3, 5]), ([0, 0, 0, 0, 0],))
def scan_fibonacci(v):
    return gyre.scan(lambda a, x: (a[1], a[0] + a[1]), v, initializer=(0, 1))[0] + 0


@program(lambda v: sum(v), ([1, 2, 3],))
def foldl_sum(v):
    return gyre.foldl(lambda a, x: a + x, v)


@program(lambda v: ((10 - v[0]) - v[1]) - v[2], ([1, 2, 3],))
def foldl_order(v):
    return gyre.foldl(lambda a, x: a - x, v, initializer=10)


@program(lambda v: v[2] * 100 + v[1] * 10 + v[0], ([1, 2, 3],))
def foldr_order(v):
    return gyre.foldr(lambda a, x: a * 10 + x, v)


@program(lambda v: (6, 6), ([1, 2, 3],))
def foldl_structure(v):
    return gyre.foldl(lambda a, x: (a[0] + x, a[1] * x), v, initializer=(0, 1))


# ---- TensorArray


@program(lambda n: np.arange(n) ** 2, (1,), (5,))
def array_in_loop(n):
    ta = gyre.TensorArray(gyre.int32, size=n, element_shape=[])
    _, ta = gyre.while_loop(lambda i, ta: i < n, lambda i, ta: (i + 1, ta.write(i, i * i)), (0, ta))
    return ta.stack()


@program(lambda n: np.arange(n) ** 2, (1,), (5,))
def array_grows(n):
    ta = gyre.TensorArray(gyre.int32, size=0, dynamic_size=True, element_shape=[])
    _, ta = gyre.while_loop(lambda i, ta: i < n, lambda i, ta: (i + 1, ta.write(i, i * i)), (0, ta))
    return ta.stack()


@program(lambda v: v[1], ([1.0, 2.0, 3.0],))
def array_unstack_read(v):
    return gyre.TensorArray(gyre.float32, size=3).unstack(v).read(1)


@program(lambda v: np.asarray(v)[[2, 0]], ([1.0, 2.0, 3.0],))
def array_gather(v):
    return gyre.TensorArray(gyre.float32, size=3).unstack(v).gather([2, 0])


@program(lambda v: np.asarray([v[1], 0.0, v[0]]), ([1.0, 2.0],))
def array_scatter(v):
    return gyre.TensorArray(gyre.float32, size=3, element_shape=[]).scatter([2, 0], v).stack()


@program(lambda v: np.asarray(v), ([1.0, 2.0, 3.0, 4.0],))
def array_split_concat(v):
    return gyre.TensorArray(gyre.float32, size=2, infer_shape=False).split(v, [1, 3]).concat()


@program(lambda v: 3, ([1.0, 2.0, 3.0],))
def array_size(v):
    return gyre.TensorArray(gyre.float32, size=3).unstack(v).size()


@program(lambda x: np.asarray([0.0, x, 0.0]), (4.0,))
def array_unwritten_is_zero(x):
    return gyre.TensorArray(gyre.float32, size=3, element_shape=[]).write(1, x).stack()


@program(lambda v: np.cumsum(v), ([1.0, 2.0, 3.0],))
def array_reads_what_it_wrote(v):
    n = gyre.shape(v)[0]
    ta = gyre.TensorArray(gyre.float32, size=n, clear_after_read=False, element_shape=[]).write(
        0, v[0]
    )
    _, ta = gyre.while_loop(
        lambda i, ta: i < n, lambda i, ta: (i + 1, ta.write(i, ta.read(i - 1) + v[i])), (1, ta)
    )
    return ta.stack()


@program(lambda x: x if x > 0 else -x, (3.0,), (-3.0,))
def array_through_cond(x):
    ta = gyre.TensorArray(gyre.float32, size=1, element_shape=[])
    ta = gyre.cond(x > 0, lambda: ta.write(0, x), lambda: ta.write(0, -x))
    return ta.read(0)


# ---- the rest


@program(lambda x: x, (3.0,))
def control_dependencies_order(x):
    with gyre.control_dependencies([gyre.debugging.assert_positive(x)]):
        return gyre.identity(x)


@program(lambda x: [x, x * 2], (3.0,))
def tuple_of_tensors(x):
    return gyre.tuple([x, x * 2])


@program(lambda x: x * x, (3.0,))
def py_function_value(x):
    return gyre.py_function(lambda v: v * v, [x], gyre.float32)


@program(lambda x: (x + 1, x * 2), (3.0,))
def py_function_pair(x):
    return gyre.py_function(lambda v: (v + 1, v * 2), [x], (gyre.float32, gyre.float32))


@program(lambda v: np.sort(v), ([3.0, 1.0, 2.0],))
def numpy_function_value(v):
    return gyre.numpy_function(np.sort, [v], gyre.float32)


@program(lambda n: n * 3, (4,))
def py_function_in_loop(n):
    return gyre.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, gyre.reshape(gyre.py_function(lambda v: v + 3, [s], gyre.int32), [])),
        (0, 0),
    )[1]


@program(lambda x: x, (3.0,))
def assert_holds(x):
    gyre.Assert(x > 0, ["x", x])
    gyre.debugging.assert_equal(x, x)
    gyre.debugging.assert_less(x, 10.0)
    gyre.debugging.assert_near(x, x + 1e-7)
    gyre.debugging.assert_rank(x, 0)
    return x
