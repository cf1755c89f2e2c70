"""What the constructs refuse, and what their errors say."""

import pytest

import gyre

ONE = gyre.constant(1.0)


def both_ways(fn):
    """Eagerly, and in a function that is traced."""
    return [fn, gyre.function(fn)]


def test_cond_needs_callables():
    with pytest.raises(TypeError, match="callable"):
        gyre.cond(ONE > 0, 1, 2)
    with pytest.raises(TypeError):
        gyre.cond(ONE > 0, lambda: 1)


def test_cond_structures_differ():
    with pytest.raises(
        TypeError, match="cond at test_errors.py:.*same structure.*true_fn returns.*false_fn"
    ):
        gyre.function(lambda x: gyre.cond(x > 0, lambda: x, lambda: (x, x)))(ONE)


def test_cond_dtypes_differ():
    with pytest.raises(TypeError, match="float32.*int32"):
        gyre.function(lambda x: gyre.cond(x > 0, lambda: x, lambda: gyre.constant(1)))(ONE)


def test_switch_case_of_a_python_int():
    with pytest.raises(TypeError, match="branch_index must not be a Python int"):
        gyre.switch_case(1, [lambda: 1, lambda: 2])


def test_switch_case_keys():
    with pytest.raises(ValueError, match="keys"):
        gyre.switch_case(gyre.constant(1), {0: lambda: 1, 2: lambda: 2})


def test_switch_case_structures_differ():
    with pytest.raises(TypeError, match="Branch 0 returns"):
        gyre.function(lambda i: gyre.switch_case(i, [lambda: 1, lambda: (1, 2)]))(gyre.constant(0))


def test_case_pairs():
    with pytest.raises(TypeError, match="pairs"):
        gyre.case([(ONE > 0, 5)])


@pytest.mark.parametrize("way", [0, 1])
def test_case_exclusive(way):
    run = both_ways(
        lambda x: gyre.case(
            [(x > 0, lambda: 1), (x > -1, lambda: 2)], exclusive=True, default=lambda: 3
        )
    )[way]
    with pytest.raises(gyre.errors.InvalidArgumentError, match="more than one predicate"):
        run(ONE)


@pytest.mark.parametrize("way", [0, 1])
def test_case_without_default(way):
    run = both_ways(lambda x: gyre.case([(x < 0, lambda: 1), (x < -1, lambda: 2)]))[way]
    with pytest.raises(gyre.errors.InvalidArgumentError, match="no predicate is true"):
        run(ONE)


@pytest.mark.parametrize("way", [0, 1])
def test_while_structure_changes(way):
    run = both_ways(
        lambda x: gyre.while_loop(lambda a, b: a < 3.0, lambda a, b: (a, b, a), (x, x))
    )[way]
    with pytest.raises(TypeError, match="2.*3|must return values of the structure"):
        run(ONE)


@pytest.mark.parametrize("way", [0, 1])
def test_while_dtype_changes(way):
    run = both_ways(
        lambda x: gyre.while_loop(lambda i: i < 3, lambda i: gyre.cast(i, gyre.float32) + 1.0, [0])
    )
    with pytest.raises(TypeError, match="int32.*float32"):
        run[way](ONE)


def test_while_without_variables():
    with pytest.raises(ValueError, match="at least one"):
        gyre.while_loop(lambda: True, lambda: (), ())


def test_map_of_unequal_rows():
    with pytest.raises(ValueError, match="equally many rows"):
        gyre.map_fn(lambda p: p[0] + p[1], (gyre.ones([2]), gyre.ones([3])))


def test_map_of_a_scalar():
    with pytest.raises(ValueError, match="axis"):
        gyre.map_fn(lambda x: x, ONE)


@pytest.mark.parametrize("way", [0, 1])
def test_map_signature(way):
    run = both_ways(lambda v: gyre.map_fn(lambda x: x > 0, v, fn_output_signature=gyre.float32))[
        way
    ]
    with pytest.raises(TypeError, match="bool.*float32"):
        run(gyre.ones([2]))


def test_array_reads():
    ta = gyre.TensorArray(gyre.float32, size=2)
    ta = ta.write(0, 1.0)
    assert float(ta.read(0)) == 1
    with pytest.raises(gyre.errors.InvalidArgumentError, match="twice"):
        ta.read(0)
    with pytest.raises(gyre.errors.OutOfRangeError, match="size is: 2"):
        ta.read(2)
    with pytest.raises(gyre.errors.OutOfRangeError, match="not resizeable"):
        ta.write(2, 1.0)
    with pytest.raises(gyre.errors.OutOfRangeError):
        ta.write(-1, 1.0)


def test_array_reads_twice_on_request():
    ta = gyre.TensorArray(gyre.float32, size=1, clear_after_read=False).write(0, 2.0)
    assert float(ta.read(0)) == float(ta.read(0)) == 2


def test_array_types_and_shapes():
    ta = gyre.TensorArray(gyre.float32, size=2)
    with pytest.raises(ValueError, match="cannot hold"):
        ta.write(0, gyre.constant(1))
    ta = ta.write(0, gyre.ones([2]))
    with pytest.raises(ValueError, match="does not fit"):
        ta.write(1, gyre.ones([3]))
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.TensorArray(gyre.float32, size=1).stack()


def test_array_out_of_range_in_a_function():
    @gyre.function
    def f(i):
        return gyre.TensorArray(gyre.float32, size=2, element_shape=[]).write(i, 1.0).stack()

    assert f(gyre.constant(1)).numpy().tolist() == [0, 1]
    with pytest.raises(gyre.errors.OpError):
        f(gyre.constant(5))


CHECKS = [
    (gyre.debugging.assert_equal, (1, 1), (1, 2)),
    (gyre.debugging.assert_none_equal, (1, 2), (1, 1)),
    (gyre.debugging.assert_less, (1, 2), (2, 2)),
    (gyre.debugging.assert_less_equal, (2, 2), (3, 2)),
    (gyre.debugging.assert_greater, (2, 1), (2, 2)),
    (gyre.debugging.assert_greater_equal, (2, 2), (1, 2)),
    (gyre.debugging.assert_positive, (1,), (0,)),
    (gyre.debugging.assert_negative, (-1,), (0,)),
    (gyre.debugging.assert_non_negative, (0,), (-1,)),
    (gyre.debugging.assert_non_positive, (0,), (1,)),
    (gyre.debugging.assert_near, (1.0, 1.0 + 1e-7), (1.0, 1.1)),
]


@pytest.mark.parametrize("check, good, bad", CHECKS, ids=lambda x: getattr(x, "__name__", None))
@pytest.mark.parametrize("way", [0, 1])
def test_assertions(check, good, bad, way):
    def fn(*args):
        check(*args, message="as told")
        return args[0]

    run = both_ways(fn)[way]
    run(*map(gyre.constant, good))
    with pytest.raises(gyre.errors.InvalidArgumentError, match="as told"):
        run(*map(gyre.constant, bad))


def test_static_assertions():
    with pytest.raises(TypeError):
        gyre.debugging.assert_integer(ONE)
    with pytest.raises(TypeError):
        gyre.debugging.assert_type(ONE, gyre.int32)
    with pytest.raises(ValueError):
        gyre.debugging.assert_scalar(gyre.ones([2]))
    with pytest.raises(ValueError):
        gyre.debugging.assert_rank(ONE, 1)
    with pytest.raises(ValueError):
        gyre.debugging.assert_rank_at_least(ONE, 1)
    with pytest.raises(ValueError):
        gyre.debugging.assert_rank_in(ONE, (1, 2))
    with pytest.raises(ValueError):
        gyre.debugging.assert_shapes([(gyre.ones([2, 3]), ("n", "n"))])
    gyre.debugging.assert_shapes([(gyre.ones([2, 2]), ("n", "n")), (gyre.ones([2]), ("n",))])


@pytest.mark.parametrize("way", [0, 1])
def test_assert(way):
    def fn(x):
        gyre.Assert(x > 0, ["x is", x])
        return x

    run = both_ways(fn)[way]
    assert float(run(ONE)) == 1
    with pytest.raises(gyre.errors.InvalidArgumentError, match="x is"):
        run(-ONE)


def test_assertions_of_branches_not_taken():
    @gyre.function
    def f(x):
        if x > 0:
            gyre.debugging.assert_less(x, 10.0)
        return x

    f(gyre.constant(-100.0))
    with pytest.raises(gyre.errors.InvalidArgumentError):
        f(gyre.constant(100.0))


def test_host_function_promises():
    with pytest.raises(TypeError, match="promises"):
        gyre.py_function(lambda x: x, [ONE], gyre.int32)
    with pytest.raises(ValueError, match="promises"):
        gyre.py_function(lambda x: (x, x), [ONE], gyre.float32)


def test_print(capfd):
    gyre.print("a", gyre.constant([1, 2]), {"k": (1, gyre.constant(2.5))}, sep="|", end="!\n")
    assert capfd.readouterr().err == "a|[1 2]|{'k': (1, 2.5)}!\n"
    with pytest.raises(ValueError, match="cannot write"):
        gyre.print(1, output_stream="nowhere")


def test_group_and_no_op():
    assert gyre.group(ONE, [ONE]) is None and gyre.no_op() is None
    with pytest.raises(TypeError):
        gyre.group("text")
    with pytest.raises(ValueError):
        gyre.tuple([None])


@pytest.mark.parametrize("by", ["stack", "concat", "gather", "read"])
def test_an_array_whose_writes_were_dropped_is_not_read(by):
    @gyre.function
    def f(n):
        array = gyre.TensorArray(gyre.float32, 3)
        for i in gyre.range(n):
            array.write(i, [1.0])
        return getattr(array, by)(*{"gather": [[0]], "read": [0]}.get(by, []))

    with pytest.raises(ValueError, match=r"errors.py:\d+ was dropped. Write ta = ta.write\("):
        f(gyre.constant(3))


def test_an_array_that_reads_as_zeros_warns_of_dropped_writes():
    @gyre.function
    def f(x):
        array = gyre.TensorArray(gyre.float32, 2, element_shape=[])
        array.write(0, x)
        return array.stack()

    with pytest.warns(UserWarning, match="reads a TensorArray that is empty"):
        assert f(ONE).numpy().tolist() == [0, 0]


def test_an_array_that_something_is_left_of_is_read():
    @gyre.function
    def f(x):
        array = gyre.TensorArray(gyre.float32, 2, element_shape=[]).write(0, x)
        other = array.write(1, x * 2)
        return array.stack(), other.stack()

    assert [rows.numpy().tolist() for rows in f(ONE)] == [[1, 0], [1, 2]]


@pytest.mark.parametrize("fold", [gyre.foldl, gyre.foldr, gyre.scan])
def test_folds_without_rows_need_an_initializer(fold):
    def over(rows):
        return fold(lambda a, b: a + b, rows)

    for run in (over, gyre.function(over)):
        with pytest.raises(ValueError, match=f"{fold.__name__} at .* no rows.* initializer"):
            run(gyre.zeros([0]))


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["at once", "function"])
def test_what_print_shows(capfd, wrap):
    rows = gyre.ragged.constant([[1], [2, 3]])

    def told(*inputs, **options):
        wrap(lambda: gyre.print(*inputs, **options))()
        return capfd.readouterr().err.rstrip("\n")

    assert told("rows", rows, "of", gyre.constant([1, 2])) == "rows [[1], [2, 3]] of [1 2]"
    assert told({"a": rows, "b": [1, "t"]}, ()) == "{'a': [[1], [2, 3]], 'b': [1, 't']} ()"
    assert told(gyre.ragged.constant([["a'b"], []])) == r"[['a\'b'], []]"
    assert told(gyre.ragged.constant([[[1, 2], []], []])) == "[[[1, 2], []], []]"
    assert told(gyre.RaggedTensor.from_row_lengths([[1, 2], [3, 4]], [2])) == "[[[1, 2], [3, 4]]]"
    many = gyre.ragged.range([7, 1])
    assert told(many, summarize=2) == "[[0, 1, ..., 5, 6], [0]]"
    assert told(many, summarize=-1) == "[[0, 1, 2, 3, 4, 5, 6], [0]]"
    assert told(gyre.ragged.range([1] * 5), summarize=1) == "[[0], ..., [0]]"
    assert told(gyre.sparse.from_dense([[0, 4]])) == (
        "SparseTensor(indices=[[0 1]], values=[4], shape=[1 2])"
    )
    assert told("{} {}", gyre.constant(1)) == "{} {} 1"
    assert told(gyre.constant("a text")) == "a text"
    assert told("and", gyre.constant("a text")) == 'and "a text"'
