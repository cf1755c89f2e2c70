"""One-shot iterators over datasets in graphs that sessions run."""

import numpy as np
import pytest

import gyre.compat.v1 as tf


def test_each_run_takes_an_element(graph):
    data = tf.data.Dataset.range(3).map(lambda x: (x, x * x))
    x, square = tf.data.make_one_shot_iterator(data).get_next()
    with tf.Session() as session:
        assert [session.run((x, square)) for _ in range(3)] == [(0, 0), (1, 1), (2, 4)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(x)


def test_each_session_begins_anew(graph):
    step = tf.data.make_one_shot_iterator(
        tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3]))
    ).get_next()
    doubled = step * 2.0
    first, second = tf.Session(), tf.Session()
    assert [first.run(doubled), first.run(doubled), second.run(doubled)] == [2.0, 4.0, 2.0]


def test_training_until_the_data_ends(graph):
    data = tf.data.Dataset.from_tensor_slices(np.float32([[1.0], [2.0], [3.0]])).repeat(40).batch(2)
    batch = tf.data.make_one_shot_iterator(data).get_next()
    weight = tf.Variable([[0.0]])
    loss = tf.reduce_mean(tf.square(tf.matmul(batch, weight) - 2.0 * batch))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    runs = 0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        while True:
            try:
                session.run(train)
                runs += 1
            except tf.errors.OutOfRangeError:
                break
        assert runs == 60 and abs(session.run(weight)[0, 0] - 2.0) < 1e-3


def test_two_steps_of_one_iterator_take_two_elements(graph):
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(10))
    a, b = iterator.get_next(), iterator.get_next()
    with tf.Session() as session:
        assert sorted(session.run([a, b])) == [0, 1]
        assert session.run(a) == 2
