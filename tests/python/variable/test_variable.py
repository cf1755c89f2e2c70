"""Variables: reading, writing, eagerly and in functions."""

import copy
import pickle

import numpy as np
import pytest

import gyre


def test_what_it_is():
    v = gyre.Variable([1.0, 2.0], name="v")
    assert v.dtype == gyre.float32 and v.shape == [2] and v.name == "v:0" and v.trainable
    assert gyre.Variable(1, dtype=gyre.float64).dtype == gyre.float64
    assert gyre.Variable(1).trainable and not gyre.Variable(1.0, trainable=False).trainable
    assert gyre.Variable(lambda: gyre.ones([3])).shape == [3]
    with pytest.raises(ValueError):
        gyre.Variable()


def test_stands_for_its_value():
    v = gyre.Variable([1.0, 2.0, 3.0])
    np.testing.assert_array_equal((v * 2 + 1).numpy(), [3, 5, 7])
    np.testing.assert_array_equal((1 / v).numpy(), [1, 0.5, np.float32(1 / 3)])
    np.testing.assert_array_equal((gyre.constant([1.0, 1, 1]) - v).numpy(), [0, -1, -2])
    np.testing.assert_array_equal(v[1:].numpy(), [2, 3])
    np.testing.assert_array_equal(gyre.reduce_sum(v).numpy(), 6)
    np.testing.assert_array_equal(np.asarray(v), [1, 2, 3])
    assert (v > 1).numpy().tolist() == [False, True, True]
    assert float(gyre.Variable(2.5)) == 2.5 and len(v) == 3
    with pytest.raises(TypeError):
        hash(v)
    assert v.ref() == v.ref()


def test_assigning():
    v = gyre.Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]) is v
    before = v.read_value()
    v.assign_add([1.0, 1.0]).assign_sub([0.0, 2.0])
    np.testing.assert_array_equal(v.numpy(), [4, 3])
    np.testing.assert_array_equal(before.numpy(), [3, 4])
    with pytest.raises(ValueError, match="shape"):
        v.assign([1.0])
    with pytest.raises(ValueError):
        v.assign(gyre.constant([1, 2]))


def test_shapes_that_may_change():
    v = gyre.Variable([1.0], shape=[None])
    v.assign([1.0, 2.0])
    np.testing.assert_array_equal(v.numpy(), [1, 2])
    with pytest.raises(ValueError):
        gyre.Variable([1.0], shape=[2])


def test_rows():
    v = gyre.Variable([[1.0], [2.0], [3.0]])
    v.scatter_add(gyre.IndexedSlices(gyre.constant([[1.0], [1.0]]), gyre.constant([0, 0])))
    v.scatter_update(gyre.IndexedSlices(gyre.constant([[9.0]]), gyre.constant([2])))
    np.testing.assert_array_equal(v.numpy(), [[3], [2], [9]])
    np.testing.assert_array_equal(v.sparse_read([2, 0]).numpy(), [[9], [3]])
    v.scatter_nd_update([[1]], [[7.0]])
    np.testing.assert_array_equal(v.numpy(), [[3], [7], [9]])


def test_in_functions():
    v = gyre.Variable(1.0)

    @gyre.function
    def step(x):
        before = v.read_value()
        v.assign_add(x)
        v.assign(v * 2)
        return before, v.read_value()

    before, after = step(gyre.constant(3.0))
    assert (float(before), float(after), float(v)) == (1, 8, 8)
    before, after = step(gyre.constant(1.0))
    assert (float(before), float(after)) == (8, 18)


def test_in_loops_of_functions():
    v = gyre.Variable(0)

    @gyre.function
    def count(n):
        for i in gyre.range(n):
            v.assign_add(i)
        return v.read_value()

    assert int(count(gyre.constant(5))) == 10
    assert int(v) == 10


def test_creators():
    seen = []

    def creator(make, **kwargs):
        seen.append(kwargs["name"])
        kwargs["name"] = "other"
        return make(**kwargs)

    with gyre.variable_creator_scope(creator):
        v = gyre.Variable(1.0, name="mine")
    assert seen == ["mine"] and v.name == "other:0"


def test_copies():
    v = gyre.Variable([1.0], name="v", trainable=False)
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        other.assign([5.0])
        assert v.numpy().tolist() == [1] and not other.trainable and other.name == "v:0"
