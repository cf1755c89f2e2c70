"""Each test of compat.v1 builds in a graph of its own; modes of the process stay as they are."""

import pytest

import gyre.compat.v1 as tf


@pytest.fixture
def graph():
    """An empty default graph."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def sess(graph):
    """A session of it, which is the default."""
    with tf.Session(graph=graph) as session:
        yield session


@pytest.fixture
def run(sess):
    """session.run, before which variables that are new get their initial values."""
    done = set()

    def start(*args, **kwargs):
        fresh = [v for v in tf.global_variables() if v not in done]
        sess.run([v.initializer for v in fresh])
        done.update(fresh)
        return sess.run(*args, **kwargs)

    return start
