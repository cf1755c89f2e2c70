"""Functions whose arguments TensorFlow 1 orders or calls otherwise; the names of the namespace."""

import importlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf
from gyre._impl import facade

X = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], np.float32)


def test_reductions(sess):
    got = sess.run(
        [
            tf.reduce_sum(X, reduction_indices=1),
            tf.reduce_max(X, 0, keep_dims=True),
            tf.reduce_mean(X, axis=[0, 1], keepdims=True),
            tf.count_nonzero(X, reduction_indices=[1]),
            tf.reduce_any(X > 5),
            tf.reduce_logsumexp(X),
        ]
    )
    assert (
        got[0].tolist() == [6, 15] and got[1].tolist() == [[6, 5, 4]] and got[2].tolist() == [[3.5]]
    )
    assert (
        got[3].tolist() == [3, 3]
        and got[4]
        and got[5] == pytest.approx(np.log(np.exp(X).sum()), rel=1e-5)
    )
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.reduce_sum(X, axis=0, reduction_indices=1)


def test_positions(sess):
    got = sess.run(
        [
            tf.argmax(X, 1),
            tf.argmin(X, dimension=0, output_type=tf.int32),
            tf.arg_max(X, 1),
            tf.argmax(X),
        ]
    )
    assert got[0].tolist() == [0, 0] and got[1].dtype == np.int32 and got[3].tolist() == [1, 1, 1]


def test_shapes(sess):
    x = tf.constant(X)
    got = sess.run(
        [
            tf.expand_dims(x, dim=0),
            tf.squeeze(tf.ones([1, 2, 1]), squeeze_dims=[0]),
            tf.shape(x),
            tf.size(x, "n", tf.int64),
            tf.rank(x),
            tf.transpose(x, [1, 0], "t"),
            tf.zeros_like(x, tf.int32),
            tf.ones_like(x, optimize=False),
        ]
    )
    assert got[0].shape == (1, 2, 3) and got[1].shape == (2, 1) and got[2].tolist() == [2, 3]
    assert (
        got[3].dtype == np.int64
        and got[4] == 2
        and got[5].shape == (3, 2)
        and got[6].dtype == np.int32
    )
    with pytest.raises(ValueError, match="axis"):
        tf.expand_dims(x)


def test_choices(sess):
    x = tf.constant(X)
    got = sess.run(
        [
            tf.where(x > 4),
            tf.where([True, False], x, -x),
            tf.gather(x, [0], axis=1),
            tf.gather_nd(x, [[1, 2]]),
            tf.norm(x, keep_dims=True),
            tf.reverse_sequence(x, [2, 1], seq_dim=1, batch_dim=0),
        ]
    )
    assert got[0].tolist() == [[1, 0], [1, 1]] and got[1].tolist() == [
        X[0].tolist(),
        (-X[1]).tolist(),
    ]
    assert got[2].tolist() == [[3], [6]] and got[3].tolist() == [4] and got[4].shape == (1, 1)
    assert got[5].tolist() == [[1, 3, 2], [6, 5, 4]]
    with pytest.raises(ValueError, match="both be non-None"):
        tf.where(x > 4, x)
    with pytest.raises(ValueError, match="needs seq_axis"):
        tf.reverse_sequence(x, [2, 1])


def test_sparse(sess):
    a = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])
    b = tf.SparseTensor([[0, 0], [0, 1]], [-1.0, 5.0], [2, 2])
    total, dense, back = sess.run(
        [tf.sparse_add(a, b), tf.sparse_add(a, tf.ones([2, 2])), tf.sparse_tensor_to_dense(a, 9.0)]
    )
    assert total.indices.tolist() == [[0, 0], [0, 1], [1, 1]] and total.values.tolist() == [0, 5, 2]
    assert dense.tolist() == [[2, 1], [1, 3]] and back.tolist() == [[1, 9], [9, 2]]
    assert sess.run(tf.sparse_to_dense([1, 2], [4], 7)).tolist() == [0, 7, 7, 0]
    with pytest.raises(TypeError, match="At least one input"):
        tf.sparse_add(tf.ones([2]), tf.ones([2]))


def test_older_names(sess):
    x = tf.constant([1.0, 4.0])
    got = sess.run(
        [
            tf.log(x),
            tf.to_int32(x),
            tf.to_float(2),
            tf.div(7, 2),
            tf.div(x, 2.0),
            tf.mod(7, 4),
            tf.unsorted_segment_sum(x, [0, 0], 1),
            tf.diag(x),
            tf.matrix_transpose(tf.diag(x)),
            tf.floordiv(x, 3.0),
            tf.is_nan(x),
            tf.clip_by_average_norm(x, 0.1),
        ]
    )
    assert got[1].tolist() == [1, 4] and got[2].dtype == np.float32 and got[3] == 3 and got[5] == 3
    assert got[6].tolist() == [5] and got[7].tolist() == [[1, 0], [0, 4]]
    assert (
        tf.nn.softmax(x, dim=0).shape.as_list() == [2] and tf.nn.log_softmax(x).dtype == tf.float32
    )


def test_strings_and_moments(sess):
    assert sess.run(tf.reduce_join([["a", "b"], ["c", "d"]])) == b"abcd"
    assert sess.run(tf.reduce_join([["a", "b"], ["c", "d"]], 0, separator="-")).tolist() == [
        b"a-c",
        b"b-d",
    ]
    mean, variance = sess.run(tf.nn.moments(tf.constant(X), [1], keep_dims=True))
    assert mean.tolist() == [[2], [5]] and variance.shape == (2, 1)
    assert sess.run(tf.nn.xw_plus_b([[1.0]], [[2.0]], [3.0])).tolist() == [[5]]
    assert tf.convert_to_tensor([1, 2], preferred_dtype=tf.float32).dtype == tf.float32


def test_dimensions():
    a, b = tf.Dimension(3), tf.Dimension(None)
    assert a + 1 == 4 and 2 * a == 6 and a.value == 3 and (a + b).value is None and (a == b) is None
    assert (
        int(a) == 3
        and list(range(5))[a] == 3
        and a > 2
        and (b > 2) is None
        and a.merge_with(b) == 3
    )
    assert b.is_compatible_with(7) and str(b) == "?" and tf.dimension_value(a) == 3
    with pytest.raises(ValueError, match="not compatible"):
        a.assert_is_compatible_with(4)
    with pytest.raises(TypeError, match="not known"):
        int(b)
    assert tf.dimension_at_index(tf.TensorShape([None, 2]), 1) == 2


# ---- The namespace


@pytest.mark.parametrize("name", sorted(n for n in facade.names() if n.startswith("compat.v1.")))
def test_every_name_resolves(name):
    value = gyre
    for part in name.split("."):
        value = getattr(value, part)
    assert value is not None


def test_all_other_names_are_gyres():
    assert tf.matmul is gyre.matmul and tf.nn.relu is gyre.nn.relu and tf.float32 is gyre.float32
    assert tf.errors.OpError is gyre.errors.OpError and tf.raw_ops.Add is gyre.raw_ops.Add
    assert importlib.import_module("gyre.compat.v1.nn").rnn_cell.GRUCell.__name__ == "GRUCell"
    for name in ("no_such_name", "nn.no_such_name"):
        with pytest.raises(AttributeError, match="no_such_name"):
            eval("tf." + name)


# ---- Modes, each in a process of its own


def process(code):
    script = "import gyre.compat.v1 as tf\n" + textwrap.dedent(code)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_disable_v2_behavior():
    assert process("""
        assert tf.executing_eagerly() and tf.constant(1).numpy() == 1
        tf.disable_v2_behavior()
        assert not tf.executing_eagerly() and not tf.control_flow_v2_enabled()
        assert not tf.resource_variables_enabled() and not tf.executing_eagerly_outside_functions()
        x = tf.placeholder(tf.float32, [None, 3])
        v = tf.Variable(1.0)
        y = tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0])
        print(x.shape[1].value, x.get_shape()[0].value, v.op.type, "ref" in repr(v), y.name)
        print([d.value for d in x.shape], x.shape.as_list(), tf.zeros([x.shape[1], 2]).shape)
        tf.reset_default_graph()
        assert tf.get_default_graph().get_operations() == []
        seven, eight = lambda: [tf.constant(7)], lambda: [tf.constant(8)]
        print(tf.Session().run(tf.cond(tf.constant(True), seven, eight)))
        try:
            tf.enable_eager_execution()
        except ValueError:
            print("refused")
        """) == [
        "3",
        "None",
        "VarHandleOp",
        "True",
        "while/Exit:0",
        "[None,",
        "3]",
        "[None,",
        "3]",
        "(3,",
        "2)",
        "7",
        "refused",
    ]


def test_disable_eager_execution():
    assert process("""
        tf.disable_eager_execution()
        graph = tf.get_default_graph()
        x = tf.constant(1.0, name="x")
        with tf.Graph().as_default():
            assert tf.get_default_graph() is not graph
        with tf.init_scope():
            y = tf.constant(2.0)
        assert y.graph is graph is x.graph and tf.control_flow_v2_enabled()
        tf.enable_control_flow_v2(), tf.enable_resource_variables(), tf.enable_v2_tensorshape()
        print(tf.Session().run(x + y))
        """) == ["3.0"]


def test_composites_name_operations_of_their_graph(graph):
    rows = tf.placeholder(tf.float32, [2, 3], name="rows")
    slices = gyre.IndexedSlices(rows, tf.constant([0, 2]), tf.constant([4, 3]))
    assert slices.op is rows.op and slices.graph is graph
    tf.negative(rows, name="minus")
    assert [operation.name for operation in slices.consumers()] == ["minus"]
    sparse = gyre.SparseTensor([[0, 1]], tf.constant([5.0], name="five"), [2, 2])
    assert sparse.op.name == "five" and sparse.graph is graph and sparse.consumers() == []
    with tf.Session():
        assert sparse.eval().values.tolist() == [5.0]
    ragged = gyre.RaggedTensor.from_row_lengths(tf.constant([1, 2, 3]), tf.constant([2, 1]))
    assert all(isinstance(operation, tf.Operation) for operation in ragged.consumers())


def test_conv2d(graph):
    image = tf.placeholder(tf.float32, [1, 3, 3, 1])
    summed = tf.nn.conv2d(image, tf.ones([2, 2, 1, 1]), strides=[1, 1, 1, 1], padding="VALID")
    with tf.Session() as session:
        got = session.run(summed, {image: np.arange(9.0).reshape(1, 3, 3, 1)})
    assert got.reshape(2, 2).tolist() == [[8.0, 12.0], [20.0, 24.0]]


def test_all_intermediates_may_be_asked_for(graph):
    tf.experimental.output_all_intermediates(True)
    x = tf.constant(2.0)
    y = tf.cond(x > 1.0, lambda: x * x, lambda: x)
    with tf.Session() as session:
        assert session.run(tf.gradients(y, x)[0]) == 4.0


def test_orders_and_names_of_arguments(sess):
    rows = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    for function in (tf.nn.in_top_k, tf.math.in_top_k):
        assert sess.run(function(rows, [0, 2], 2)).tolist() == [False, True]
        assert sess.run(function(predictions=rows, targets=[0, 2], k=2)).tolist() == [False, True]
    for function in (tf.nn.l2_normalize, tf.math.l2_normalize, tf.linalg.l2_normalize):
        assert sess.run(function([[3.0, 4.0]], dim=1)).tolist() == [
            pytest.approx([0.6, 0.8], rel=1e-6)
        ]
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.nn.l2_normalize([[3.0, 4.0]], axis=0, dim=1)
    by_name = tf.nn.weighted_cross_entropy_with_logits(
        targets=[1.0, 0.0], logits=[0.5, -1.0], pos_weight=2.0
    )
    by_place = gyre.nn.weighted_cross_entropy_with_logits([1.0, 0.0], [0.5, -1.0], 2.0)
    np.testing.assert_array_equal(sess.run(by_name), sess.run(by_place))
    layer = tf.nn.relu_layer([[1.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], name="layer")
    assert layer.op.name == "layer" and sess.run(layer).tolist() == [[1.5, 0.0]]


def test_texts_become_sparse_rows(sess):
    sparse = sess.run(tf.strings.split(["a b", "c"]))
    assert sparse.values.tolist() == [b"a", b"b", b"c"]
    assert sparse.indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert sparse.dense_shape.tolist() == [2, 2]
    rows = sess.run(tf.strings.split(source=["a,b", "c"], sep=",", result_type="RaggedTensor"))
    assert rows.to_list() == [[b"a", b"b"], [b"c"]]
    assert sess.run(tf.strings.split("a b")).dense_shape.tolist() == [1, 2]
    assert sess.run(tf.strings.split([["a b"], ["c"]])).dense_shape.tolist() == [2, 1, 2]
    with pytest.raises(ValueError, match="result_type must be"):
        tf.strings.split(["a"], result_type="list")
    assert sess.run(tf.string_split(["a  b"])).values.tolist() == [b"a", b"b"]
    kept = tf.string_split(["a;;b"], sep=";", skip_empty=False, result_type="RaggedTensor")
    assert sess.run(kept).to_list() == [[b"a", b"", b"b"]]
    assert sess.run(tf.regex_replace(["aa"], "a", "b", False)).tolist() == [b"ba"]


def test_older_names_of_sparse_functions(sess):
    x = gyre.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    for function in (tf.sparse_reduce_sum, tf.sparse.reduce_sum):
        assert sess.run(function(x, 1, keep_dims=True)).tolist() == [[2], [3]]
        assert sess.run(function(x, reduction_axes=0)).tolist() == [3, 2]
    assert sess.run(tf.sparse_reduce_max(x, 1)).tolist() == [2, 3]
    assert sess.run(tf.sparse_reduce_sum_sparse(x, 1)).values.tolist() == [2, 3]
    assert sess.run(tf.sparse_reduce_max_sparse(x, 1)).values.tolist() == [2, 3]
    wide = gyre.SparseTensor([[0, 2]], [4.0], [1, 3])
    for function in (tf.sparse_concat, tf.sparse.concat):
        assert sess.run(function(0, [x, wide], expand_nonconcat_dim=True)).dense_shape.tolist() == [
            3,
            3,
        ]
        assert sess.run(function(1, [x, x], "joined")).values.tolist() == [2, 2, 3, 3]
    turned = gyre.SparseTensor([[1, 0], [0, 1]], [3.0, 2.0], [2, 2])
    assert sess.run(tf.sparse_reorder(turned)).values.tolist() == [2, 3]
    assert sess.run(tf.sparse_tensor_dense_matmul(x, [[1.0], [10.0]])).tolist() == [[20], [3]]
    for kind, expected in (("sum", 4.0), ("mean", 2.0), ("sqrt_n", 2 * 2**0.5)):
        for function in (
            getattr(tf, f"sparse_segment_{kind}"),
            getattr(tf.sparse, f"segment_{kind}"),
        ):
            made = function([[1.0], [3.0]], [0, 1], [0, 0], "named", num_segments=2)
            assert sess.run(made).ravel().tolist() == pytest.approx([expected, 0])


def test_older_names_of_the_root(sess):
    x = tf.constant([-1.0, 0.3, 2.0])
    made = tf.quantize_v2(x, -1.0, 2.0, tf.quint8, "MIN_FIRST", "name")
    same = tf.quantize(x, -1.0, 2.0, tf.quint8, "MIN_FIRST")
    assert sess.run(made.output_max) == sess.run(same.output_max) == 2
    back = tf.dequantize(same.output, same.output_min, same.output_max, "MIN_FIRST")
    np.testing.assert_allclose(sess.run(back), [-1, 0.3, 2], atol=0.01)
    for function, ends in (
        (tf.fake_quant_with_min_max_args, (-1.0, 2.0)),
        (tf.fake_quant_with_min_max_vars, (-1.0, 2.0)),
        (tf.fake_quant_with_min_max_vars_per_channel, ([-1.0] * 3, [2.0] * 3)),
    ):
        np.testing.assert_allclose(sess.run(function(x, *ends)), [-1, 0.3, 2], atol=0.01)
    image = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    one, two = [1, 1, 1, 1], [1, 2, 2, 1]
    patches = tf.extract_image_patches(image, ksizes=two, strides=one, rates=one, padding="VALID")
    assert sess.run(patches).tolist() == [[[[0, 1, 2, 3]]]]
    assert sess.run(tf.floor_div(-3, 2)) == -2
    best, places = tf.nn.max_pool_with_argmax(image, two, two, "VALID")
    assert sess.run([best, places])[1].ravel().tolist() == [3]


def test_random_numbers_under_older_names(sess):
    tf.set_random_seed(5)
    for function in (tf.random_poisson, tf.random.poisson):
        drawn = sess.run(function([1.0, 1000.0], [50]))
        assert drawn.shape == (50, 2) and drawn[:, 0].mean() < 5 and drawn[:, 1].mean() > 800
    for function in (tf.random_gamma, tf.random.gamma):
        drawn = sess.run(function([50], [1.0, 1000.0], dtype=tf.float64))
        assert drawn.shape == (50, 2) and drawn[:, 0].mean() < 5 and drawn[:, 1].mean() > 800
    one, two = sess.run([tf.random_gamma([20], 1.0), tf.random_gamma([20], 1.0)])
    assert (one != two).any()


def test_arrays_without_control_flow_v2(sess):
    tf.disable_control_flow_v2()
    try:
        array = tf.TensorArray(tf.float32, 3, infer_shape=False)
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been written"):
            array.write(2, 3.0).write(2, 4.0)
        slopes = array.grad("gradients").write(2, 3.0).write(2, 4.0).write(0, [1.0])
        assert sess.run(slopes.read(2)) == 7.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(slopes.write(0, [1.0, 2.0]).read(0))
        known = tf.TensorArray(tf.float32, 3, element_shape=[]).grad("gradients").write(0, 1.0)
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            known.write(0, [1.0])
        assert sess.run(array.grad("gradients").size()) == 3
        split = array.split([1.0], [1])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to the size"):
            sess.run(split.read(0))
    finally:
        tf.enable_control_flow_v2()
    with pytest.raises(NotImplementedError):
        tf.TensorArray(tf.float32, 3).grad("gradients")


def test_pieces_and_order_of_arrays(run, sess):
    value = tf.constant([[1.0], [2.0], [3.0]])
    array = tf.TensorArray(tf.float32, 3).split(value, tf.constant([1, 1, 1]))
    assert array.read(0).shape.as_list() == [1, 1] and array.concat().shape.as_list() == [3, 1]
    v = tf.Variable(0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        array = array.identity()
    assert run(array.read(2)).tolist() == [[3.0]] and sess.run(v) == 1.0
    with pytest.warns(UserWarning, match="was dropped"):
        empty = tf.TensorArray(tf.float32, 3)
        empty.write(0, 1.0)
        with pytest.raises(tf.errors.OpError, match="element -1"):
            sess.run(empty.read(-1))


def test_values_that_are_known_while_a_graph_is_built(graph):
    assert gyre.get_static_value(tf.constant([2, 3]) + 0) is None
    assert gyre.get_static_value(tf.identity(tf.constant([2, 3]))).tolist() == [2, 3]
    sizes = tf.shape(tf.zeros([4, 20]))
    assert gyre.get_static_value(sizes[1] // sizes[0] * 3 - 1) == 14
    assert gyre.get_static_value(sizes[1] // (sizes[0] - 4)) is None
    assert gyre.get_static_value(tf.placeholder(tf.int32, [])) is None
    tf.disable_v2_tensorshape()
    try:
        assert (tf.constant(3) < tf.zeros([4]).shape[0]).dtype == tf.bool
        assert tf.reshape(tf.zeros([4]), tf.zeros([2, 2]).shape).shape.as_list() == [2, 2]
    finally:
        tf.enable_v2_tensorshape()


def test_indices_of_branches_become_of_one_type(sess):
    p = tf.placeholder(tf.bool, [])
    values = tf.constant([10])
    narrow, wide = (tf.IndexedSlices(values, tf.constant([0], t)) for t in (tf.int32, tf.int64))
    r = tf.cond(p, lambda: narrow, lambda: wide)
    assert r.indices.dtype == tf.int64
    assert [sess.run(r.indices, {p: b}).tolist() for b in (True, False)] == [[0], [0]]
