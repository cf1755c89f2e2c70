"""py_func and its like in sessions' graphs."""

import queue
import threading

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def test_functions_that_wait_for_each_other_run_beside_each_other(run):
    handed = queue.Queue(1)
    threads = set()

    def put():
        threads.add(threading.get_ident())
        handed.put(42)
        handed.join()
        return 42

    def take():
        threads.add(threading.get_ident())
        value = handed.get(timeout=60)
        handed.task_done()
        return value

    x, y = (tf.py_func(f, [], [tf.int64])[0] for f in (put, take))
    assert run([x, y]) == [42, 42] and len(threads) == 2


def test_a_list_of_one_array_is_the_list_of_results(run):
    (found,) = tf.py_func(lambda: [np.array([1, 2, 3])], [], [tf.int64])
    assert run(found).tolist() == [1, 2, 3]
    assert run(tf.py_func(lambda: [1, 2, 3], [], tf.int64)).tolist() == [1, 2, 3]


def test_without_results_and_effects_there_is_nothing_to_run(run):
    assert tf.py_func(lambda: None, [], [], stateful=False) == []


def test_an_empty_dict_is_no_dtype():
    with pytest.raises(TypeError, match="empty dict"):
        gyre.py_function(lambda: 1, [], [{}])


def test_results_of_the_type_of_a_value():
    x = gyre.ragged.constant([[1.0, 2.0], [3.0]])
    spec = gyre.RaggedTensorSpec.from_value(x)
    assert gyre.py_function(lambda v: 2 * v, [x], spec).to_list() == [[2, 4], [6]]
    with pytest.raises(TypeError, match="describes no int"):
        gyre.RaggedTensorSpec.from_value(1)


def test_a_list_of_one_list_is_the_list_of_results(run):
    texts = [b"a", b"b"]
    for result, found in (([texts], texts), ([7], 7)):
        dtype = tf.string if found is texts else tf.int64
        (y,) = tf.py_func(lambda result=result: result, [], [dtype])
        assert np.array_equal(run(y), found)


def test_functions_of_nothing_without_effects_are_constants(sess):
    numbers = iter(range(3))
    (x,) = tf.py_func(lambda: next(numbers), [], [tf.int64], stateful=False)
    assert [sess.run(x), sess.run(x)] == [0, 0]


def test_what_functions_of_sessions_raise(run):
    def inner():
        raise ValueError("blah")

    def outer():
        inner()

    y = tf.py_func(outer, [], [tf.int64])
    with pytest.raises(tf.errors.InvalidArgumentError, match="(?s)blah.*in outer.*in inner.*blah"):
        run(y)
    (z,) = tf.py_func(lambda: {"a": tf.float32}, [], [tf.int64])
    with pytest.raises(tf.errors.InternalError, match="no tensor") as raised:
        run(z)
    assert isinstance(raised.value, TypeError)


def test_shapes_that_are_promised(run):
    spec = gyre.RaggedTensorSpec([2, None], gyre.float32)
    x = gyre.ragged.constant([[1.0, 2.0], [3.0]])

    @gyre.function
    def f(x):
        return x + gyre.py_function(lambda x: x * 2, [x], spec)

    assert run(f(x)).to_list() == [[3.0, 6.0], [9.0]]
