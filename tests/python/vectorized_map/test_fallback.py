"""What runs row by row, what is said of it, and what is refused."""

import warnings

import numpy as np
import pytest

import gyre

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)


def abs_of_first(p):
    return gyre.cond(p[0] > 2, lambda: p, lambda: -p)


def test_a_warning_names_what_is_slow():
    with pytest.warns(
        UserWarning, match=r"StatelessIf 'cond' at test_fallback.py:\d+: its condition differs"
    ):
        result = gyre.vectorized_map(abs_of_first, ROWS)
    np.testing.assert_array_equal(result, [[-1, -2], [3, 4], [5, 6]])


def test_no_warning_is_given_where_none_is_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gyre.vectorized_map(abs_of_first, ROWS, warn=False)
        gyre.vectorized_map(lambda p: p * 2, ROWS)


def test_without_fallback_the_op_and_the_reason_are_named():
    with pytest.raises(
        gyre.errors.UnimplementedError,
        match=r"'cond' \(StatelessIf\).*its condition differs from "
        r"row to row\n  at test_fallback.py:\d+",
    ):
        gyre.vectorized_map(abs_of_first, ROWS, fallback_to_while_loop=False)


def test_without_fallback_what_stands_in_bodies_is_named():
    def fn(p):
        return gyre.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, abs_of_first(x)), (0, p))[1]

    with pytest.raises(gyre.errors.UnimplementedError, match="'cond'"):
        gyre.vectorized_map(fn, ROWS, fallback_to_while_loop=False)


def test_a_loop_stands_around_the_node_alone():
    """In the body of a loop that is batched, a conditional runs row by row."""

    @gyre.function
    def batched(rows):
        return gyre.vectorized_map(
            lambda p: gyre.while_loop(
                lambda i, x: i < 2, lambda i, x: (i + 1, abs_of_first(x) + 1), (0, p)
            )[1],
            rows,
            warn=False,
        )

    want = gyre.map_fn(lambda p: abs_of_first(abs_of_first(p) + 1) + 1, ROWS)
    np.testing.assert_array_equal(batched(ROWS), want)


def test_recursion():
    """Where all rows go as deep, the calls are batched until the function calls itself."""

    @gyre.function(input_signature=[gyre.TensorSpec([2]), gyre.TensorSpec([], gyre.int32)])
    def power(p, k):
        if k == 0:
            return gyre.ones_like(p)
        return p * power(p, k - 1)

    np.testing.assert_array_equal(
        gyre.vectorized_map(lambda p: power(p, 3), ROWS, warn=False), ROWS**3
    )


def test_effects_happen_once_per_row_in_order():
    log = []

    def fn(p):
        gyre.py_function(lambda x: log.append(("a", float(x))), [p[0]], [])
        gyre.py_function(lambda x: log.append(("b", float(x))), [p[1]], [])
        gyre.py_function(lambda: log.append("c"), [], [])
        return p

    gyre.vectorized_map(fn, ROWS, warn=False)
    assert log == [("a", 1), ("a", 3), ("a", 5), ("b", 2), ("b", 4), ("b", 6), "c", "c", "c"]


def test_effects_in_branches_and_loops():
    v = gyre.Variable(0.0)

    def fn(p):
        gyre.cond(gyre.size(p) > 1, lambda: v.assign_add(p[0]), lambda: v.assign_add(100.0))
        for _ in gyre.range(2):
            v.assign_add(1.0)
        return p

    gyre.vectorized_map(fn, ROWS, warn=False)
    assert v.numpy() == 9.0 + 2 * 3


def test_a_variable_that_each_row_writes():
    v = gyre.Variable(0.0)
    gyre.vectorized_map(lambda p: v.assign_add(p[0]), ROWS, warn=False)
    assert v.numpy() == 9.0
    gyre.vectorized_map(lambda p: v.assign_add(1.0), ROWS, warn=False)
    assert v.numpy() == 12.0


def test_a_variable_that_all_rows_read():
    v = gyre.Variable([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(
        gyre.vectorized_map(lambda p: gyre.matmul(p[None], v)[0], ROWS), ROWS @ v.numpy()
    )
    np.testing.assert_array_equal(
        gyre.vectorized_map(lambda i: gyre.gather(v, i), np.array([1, 0, 1])), v.numpy()[[1, 0, 1]]
    )


@pytest.mark.parametrize(
    "draw",
    [
        lambda: gyre.random.uniform([3]),
        lambda: gyre.random.normal([3]),
        lambda: gyre.random.truncated_normal([3]),
        lambda: gyre.random.uniform([3], maxval=1 << 30, dtype=gyre.int32),
        lambda: gyre.random.shuffle(gyre.range(100)),
        lambda: gyre.cond(
            gyre.constant(True), lambda: gyre.random.uniform([3]), lambda: gyre.zeros([3])
        ),
    ],
)
def test_rows_draw_different_numbers(draw):
    rows = gyre.vectorized_map(lambda p: (p, draw()), ROWS, warn=False)[1].numpy()
    assert len({tuple(row) for row in rows}) == len(ROWS)


def test_dropout_is_batched():
    rows = gyre.vectorized_map(
        lambda p: gyre.nn.dropout(gyre.ones([1000]), 0.5), ROWS, fallback_to_while_loop=False
    )
    kept = rows.numpy() != 0
    assert (kept.mean(axis=1) > 0.4).all() and (kept.mean(axis=1) < 0.6).all()
    assert (kept[0] != kept[1]).any()


def test_an_assertion_holds_if_it_holds_in_all_rows():
    def fn(p):
        gyre.debugging.assert_less(p, 5.5, message="too large")
        return p

    np.testing.assert_array_equal(
        gyre.vectorized_map(fn, ROWS[:2], fallback_to_while_loop=False), ROWS[:2]
    )
    with pytest.raises(gyre.errors.InvalidArgumentError, match="too large"):
        gyre.vectorized_map(fn, ROWS)


def test_numbers_are_checked():
    def fn(p):
        return gyre.debugging.check_numerics(1.0 / p, "bad")

    np.testing.assert_allclose(gyre.vectorized_map(fn, ROWS), 1 / ROWS)
    with pytest.raises(gyre.errors.InvalidArgumentError, match="bad"):
        gyre.vectorized_map(fn, ROWS - 1.0)


def test_segments_that_do_not_exist_are_an_error_as_before():
    fn = lambda ids: gyre.math.unsorted_segment_sum(gyre.ones([2]), ids, 2)  # noqa: E731
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.vectorized_map(fn, np.array([[0, 2], [0, 1]], np.int32))


def test_elems_must_have_equally_many_rows():
    with pytest.raises(ValueError, match=r"equally many rows, but have \[2, 3\]"):
        gyre.vectorized_map(lambda t: t[0] + t[1], (ROWS, ROWS[:2]))
    with pytest.raises(ValueError, match="a scalar has no rows"):
        gyre.vectorized_map(lambda p: p, 1.0)
    with pytest.raises(ValueError, match="at least one tensor"):
        gyre.vectorized_map(lambda p: p, [])
    with pytest.raises(TypeError, match="callable"):
        gyre.vectorized_map(3, ROWS)


@pytest.mark.parametrize("fewer", [1, 2])
def test_rows_that_disagree_when_the_function_runs(fewer):
    """Also one row, which would broadcast."""

    @gyre.function(input_signature=[gyre.TensorSpec([None, 2]), gyre.TensorSpec([None, 2])])
    def total(p, q):
        return gyre.vectorized_map(lambda t: t[0] + t[1], (p, q))

    np.testing.assert_array_equal(total(ROWS, ROWS), ROWS * 2)
    with pytest.raises(gyre.errors.InvalidArgumentError, match="equally many rows"):
        total(ROWS, ROWS[:fewer])


def test_ranks_that_are_not_known():
    spec = gyre.TensorSpec(None, gyre.float32)

    @gyre.function(input_signature=[spec, spec])
    def batched(p, q):
        return gyre.vectorized_map(
            lambda t: gyre.tanh(t[0] * t[1] + 1.0) + gyre.reduce_sum(t[0]),
            (p, q),
            fallback_to_while_loop=False,
        )

    p, q = np.random.RandomState(1).rand(3, 4).astype(np.float32), np.ones((3, 2, 4), np.float32)
    want = np.tanh(p[:, None] * q + 1) + p.sum(axis=1)[:, None, None]
    np.testing.assert_allclose(batched(p, q), want, rtol=1e-6)


def test_functions_run_eagerly():
    gyre.config.run_functions_eagerly(True)
    try:
        np.testing.assert_array_equal(
            gyre.vectorized_map(abs_of_first, ROWS), [[-1, -2], [3, 4], [5, 6]]
        )
    finally:
        gyre.config.run_functions_eagerly(False)


def test_second_derivatives():
    def outer(mapped):
        x = gyre.constant(ROWS / 10)
        with gyre.GradientTape() as tape:
            tape.watch(x)

            def inner(p):
                with gyre.GradientTape() as own:
                    own.watch(p)
                    y = gyre.reduce_prod(gyre.sin(p) * p[0])
                return own.gradient(y, p)

            z = gyre.reduce_sum(gyre.exp(mapped(inner, x)))
        return tape.gradient(z, x)

    np.testing.assert_allclose(outer(gyre.vectorized_map), outer(gyre.map_fn), rtol=1e-5)


def test_in_a_session():
    v1 = gyre.compat.v1
    with v1.Graph().as_default():
        p, q = v1.placeholder(gyre.float32, [None, 2]), v1.placeholder(gyre.float32, [None, 2])
        y = gyre.vectorized_map(lambda t: gyre.reduce_sum(t[0] * t[1]), (p, q))
        dp = v1.gradients(y, p)[0]
        with v1.Session() as session:
            values = session.run([y, dp], {p: ROWS, q: ROWS})
            np.testing.assert_allclose(values[0], (ROWS * ROWS).sum(1))
            np.testing.assert_array_equal(values[1], ROWS)
            with pytest.raises(gyre.errors.InvalidArgumentError, match="equally many rows"):
                session.run(y, {p: ROWS, q: ROWS[:2]})
