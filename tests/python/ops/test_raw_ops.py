"""raw_ops: every op of the registry by keywords."""

import inspect

import pytest

import gyre


def test_one_several_and_no_results():
    assert float(gyre.raw_ops.AddV2(x=1.0, y=2.0)) == 3
    found = gyre.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2)
    assert found.values.numpy().tolist() == [3, 2] and found.indices.numpy().tolist() == [1, 2]
    parts = gyre.raw_ops.Split(split_dim=0, value=[1, 2, 3, 4], num_split=2)
    assert [p.numpy().tolist() for p in parts] == [[1, 2], [3, 4]]
    assert gyre.raw_ops.Assert(condition=True, data=["fine"]) is None


def test_signatures_and_docs():
    signature = inspect.signature(gyre.raw_ops.MatMul)
    assert signature.parameters["transpose_a"].default is False
    assert "product" in gyre.raw_ops.MatMul.__doc__
    assert gyre.raw_ops.MatMul is gyre.raw_ops.MatMul


def test_every_op_has_a_function():
    for name in dir(gyre.raw_ops):
        assert callable(getattr(gyre.raw_ops, name))


def test_misuse():
    with pytest.raises(TypeError, match="MatMul"):
        gyre.raw_ops.MatMul(a=[[1.0]])
    with pytest.raises(AttributeError):
        _ = gyre.raw_ops.NoSuchOp
