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
