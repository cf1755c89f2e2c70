"""Functions on tensors of which little is known when they are traced: as eagerly."""

import numpy as np
import pytest

import gyre

X = np.random.default_rng(9).normal(size=(3, 4)).astype("float32")

FUNCTIONS = {
    "reduce": lambda x: gyre.math.reduce_std(x, 0) + gyre.reduce_logsumexp(x, 0),
    "reduce all": lambda x: gyre.reduce_mean(x) + gyre.reduce_max(x),
    "sort": lambda x: gyre.sort(x, 0, "DESCENDING"),
    "argsort": lambda x: gyre.argsort(x),
    "repeat": lambda x: gyre.repeat(x, 2, axis=1),
    "repeat all": lambda x: gyre.repeat(x, gyre.cast(x > 0, "int32")[0, 0] + 1),
    "roll": lambda x: gyre.roll(x, [1, -1], [0, 1]),
    "mask": lambda x: gyre.boolean_mask(x, x > 0),
    "rows": lambda x: gyre.boolean_mask(x, x[:, 0] > 0),
    "where": lambda x: gyre.where(x > 0),
    "reshape": lambda x: gyre.reshape(x, [gyre.shape(x)[1], -1]),
    "fill": lambda x: gyre.zeros([gyre.shape(x)[0], 2]) + gyre.ones(gyre.shape(x)[:1])[:, None],
    "eye": lambda x: gyre.eye(gyre.shape(x)[0]),
    "one hot": lambda x: gyre.one_hot(gyre.argmax(x, 1), gyre.shape(x)[1]),
    "diagonals": lambda x: gyre.linalg.set_diag(x, gyre.linalg.diag_part(x) * 2),
    "band": lambda x: gyre.linalg.band_part(x, 1, 0),
    "transpose": lambda x: gyre.transpose(x) @ x,
    "tensordot": lambda x: gyre.tensordot(x, x, [[0], [0]]),
    "meshgrid": lambda x: gyre.meshgrid(x[0], x[:, 0])[1],
    "concat": lambda x: gyre.concat([x, x[:1] * 2], 0),
    "stack": lambda x: gyre.stack([x, gyre.ones_like(x)], axis=-1),
    "pad": lambda x: gyre.pad(x, [[1, 1], [0, 2]], constant_values=3.0),
    "softmax": lambda x: gyre.nn.softmax(x, 0) + gyre.nn.log_softmax(x),
    "entropy": lambda x: gyre.nn.sparse_softmax_cross_entropy_with_logits(gyre.argmin(x, 1), x),
    "moments": lambda x: gyre.nn.moments(x, [0])[1],
    "clip": lambda x: gyre.clip_by_norm(x, 1.0) + gyre.clip_by_global_norm([x], 0.5)[0][0],
    "segments": lambda x: gyre.math.unsorted_segment_mean(x, gyre.range(gyre.shape(x)[0]) % 2, 2),
    "unique": lambda x: gyre.unique_with_counts(gyre.sign(x)[0])[2],
    "linspace": lambda x: gyre.linspace(x[0], x[1], 3),
    "scan": lambda x: gyre.cumsum(x, 1, reverse=True) + gyre.math.cumulative_logsumexp(x, 1),
    "scatter": lambda x: gyre.tensor_scatter_nd_update(x, [[0]], x[1:2]),
    "gather": lambda x: gyre.gather(x, gyre.argsort(x, 1), batch_dims=1),
    "gather_nd": lambda x: gyre.gather_nd(x, [[1], [0], [2]], batch_dims=1),
    "norm": lambda x: gyre.norm(x, 1, axis=[0, 1]) + gyre.norm(x, 3),
    "text": lambda x: gyre.strings.length(gyre.as_string(gyre.cast(x * 100, "int32"))),
}


@pytest.mark.parametrize("dims", [(None, None), (3, 4)], ids=["sizes unknown", "sizes known"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_eagerly(name, dims):
    f = FUNCTIONS[name]
    traced = gyre.function(f, input_signature=[gyre.TensorSpec(dims, gyre.float32)])
    expected, found = f(gyre.constant(X)).numpy(), traced(gyre.constant(X)).numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
