"""Gradients, optimizers, schedules, losses, layers."""

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf

# ---- Gradients


def test_gradients(run, sess):
    x = tf.constant([1.0, 2.0])
    v = tf.Variable(3.0)
    y = x * x * v
    gx, gv = tf.gradients(y, [x, v])
    assert [g.tolist() for g in run([gx, gv])] == [[6, 12], 5]
    assert sess.run(tf.gradients([y, 2.0 * x], x, grad_ys=[[1.0, 10.0], None])[0]).tolist() == [
        8,
        122,
    ]
    assert tf.gradients(y, tf.constant(1.0)) == [None]
    zero = tf.gradients(y, tf.constant([1.0, 1.0]), unconnected_gradients="zero")[0]
    assert sess.run(zero).tolist() == [0, 0]
    a = 2.0 * x
    assert sess.run(tf.gradients(a * x, x, stop_gradients=[a])[0]).tolist() == [2, 4]
    gated = tf.gradients(
        y, [x, v], gate_gradients=True, name="mine", aggregation_method=tf.AggregationMethod.ADD_N
    )
    assert gated[0].op.control_inputs and gated[0].name.startswith("mine/")
    with pytest.raises(ValueError, match="grad_ys"):
        tf.gradients([y, y], x, grad_ys=[None])
    with pytest.raises(TypeError):
        tf.gradients(y, "x")


def test_sparse_gradients(run):
    table = tf.Variable(np.eye(3, dtype=np.float32))
    slices = tf.gradients(tf.nn.embedding_lookup(table, [2, 0, 2]), table)[0]
    assert isinstance(slices, tf.IndexedSlices)
    got = run(slices)
    assert got.indices.tolist() == [2, 0, 2] and got.values.tolist() == [[1, 1, 1]] * 3


def test_gradients_of_slices_are_tensors(run):
    v, x = tf.Variable([1.0, 2.0, 3.0]), tf.constant([1.0, 2.0])
    gv, gx = tf.gradients(v[0] * v[1] + x[1], [v, x])
    assert [g.tolist() for g in run([gv, gx])] == [[2, 1, 0], [0, 1]] and gx.shape.as_list() == [2]


def test_hessians(sess):
    x = tf.constant([1.0, 2.0])
    y = x[0] ** 2 * x[1]
    assert sess.run(tf.hessians(y, x)[0]).tolist() == [[4, 2], [2, 0]]


def test_gradients_through_constructs(run):
    v = tf.Variable(2.0)
    p = tf.placeholder_with_default(True, [])
    looped = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v), [0, 1.0])[1]
    chosen = tf.cond(p, lambda: v * v, lambda: v)
    scanned = tf.scan(lambda a, e: a * v + e, tf.ones([3]))[-1]
    assert run(tf.gradients([looped, chosen, scanned], v)) == [12 + 4 + 5]
    no_way = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a * v), [0, v], back_prop=False
    )[1]
    assert tf.gradients(no_way, v) == [None]


def test_custom_gradients_read_variables(run):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def twice(x):
        def grad(dy, variables=None):
            return 100.0 * dy, [dy * 7.0 for _ in variables]

        return x * v * 2.0, grad

    x = tf.constant(1.0)
    y = twice(x)
    assert run([y, *tf.gradients(y, [x, v])]) == [6.0, 100.0, 7.0]


def test_gradient_of_cross_entropy_at_zero():
    with tf.Graph().as_default():
        x = tf.zeros([2])
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.constant([0.0, 1.0]), logits=x)
        assert tf.Session().run(tf.gradients(loss, x)[0]).tolist() == [0.5, -0.5]
    with gyre.GradientTape() as tape:
        eager = gyre.zeros([1])
        tape.watch(eager)
        value = gyre.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=eager)
        assert tape.gradient(value, eager).numpy().tolist() == [-0.5]


# ---- Optimizers


def numpy_steps(kind, g, n):
    """The same steps in numpy, of a variable that starts at 1 with the same gradient each time."""
    w, a, m, v = 1.0, 0.1, 0.0, 0.0
    for t in range(1, n + 1):
        if kind == "sgd":
            w -= 0.1 * g
        elif kind == "momentum":
            m = 0.9 * m + g
            w -= 0.1 * m
        elif kind == "nesterov":
            m = 0.9 * m + g
            w -= 0.1 * (g + 0.9 * m)
        elif kind == "adagrad":
            a += g * g
            w -= 0.1 * g / np.sqrt(a)
        elif kind == "rmsprop":
            v = (1.0 if t == 1 else v) * 0.9 + 0.1 * g * g
            m = 0.5 * m + 0.1 * g / np.sqrt(v + 1e-10)
            w -= m
        elif kind == "adam":
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w -= 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    return w


OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_steps(kind, run, sess):
    dense, rows = tf.Variable([1.0, 1.0]), tf.Variable([[1.0], [1.0], [1.0]])
    loss = tf.reduce_sum(dense * [0.5, -2.0]) + 0.25 * tf.reduce_sum(tf.gather(rows, [2, 0, 2]))
    step = OPTIMIZERS[kind]().minimize(loss)
    run(dense)
    for _ in range(3):
        sess.run(step)
    got, table = sess.run([dense, rows])
    assert np.allclose(got, [numpy_steps(kind, g, 3) for g in (0.5, -2.0)], atol=1e-5)
    wanted = [numpy_steps(kind, g, 3) for g in (0.25, 0.0, 0.5)]
    assert np.allclose(table.ravel(), wanted, atol=1e-5)


def test_names_and_slots(run):
    v = tf.Variable(1.0, name="v")
    adam = tf.train.AdamOptimizer()
    assert adam.minimize(v * v).name == "Adam" and adam.get_slot_names() == ["m", "v"]
    momentum = tf.train.MomentumOptimizer(0.1, 0.9)
    momentum.minimize(v * v)
    assert (
        momentum.get_slot(v, "momentum").name == "v/Momentum:0"
        and momentum.get_slot(v, "no") is None
    )
    assert [x.name for x in adam.variables()] == [
        "beta1_power:0",
        "beta2_power:0",
        "v/Adam:0",
        "v/Adam_1:0",
    ]
    assert [x.name for x in tf.trainable_variables()] == ["v:0"] and adam.get_name() == "Adam"
    assert tf.get_collection("train_op")[0].name == "Adam"


def test_global_step_and_constraints(run, sess):
    step = tf.train.get_or_create_global_step()
    v = tf.Variable(1.0, constraint=lambda value: tf.maximum(value, 0.9))
    train = tf.train.GradientDescentOptimizer(tf.constant(1.0)).minimize(v * v, global_step=step)
    run(train)
    assert sess.run([v, step]) == [np.float32(0.9), 1] and tf.train.global_step(sess, step) == 1
    assert tf.train.get_global_step() is step
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()


def test_refused_steps(graph):
    v = tf.Variable(1.0)
    sgd = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients provided"):
        sgd.minimize(tf.constant(1.0))
    with pytest.raises(ValueError, match="No gradients provided"):
        sgd.apply_gradients([(None, v)])
    with pytest.raises(ValueError, match="gate_gradients"):
        sgd.compute_gradients(v * v, gate_gradients=7)
    with pytest.raises(ValueError, match="No variables to optimize"):
        sgd.compute_gradients(v * v, var_list=[])
    with pytest.raises(NotImplementedError):
        tf.train.Optimizer(False, "mine").apply_gradients([(tf.constant(1.0), v)])


def test_an_optimizer_of_ones_own(run, sess):
    class Sign(tf.train.Optimizer):
        def _apply_dense(self, gradient, variable):
            return variable.assign_sub(tf.sign(gradient), read_value=False)

    v = tf.Variable([1.0, -5.0])
    run(Sign(False, "Sign").minimize(tf.reduce_sum(v * v), name="go"))
    assert sess.run(v).tolist() == [0, -4]


def test_schedules(sess):
    t = tf.placeholder(tf.int64, [])
    rates = {
        "exponential": tf.train.exponential_decay(1.0, t, 2, 0.5),
        "stairs": tf.train.exponential_decay(1.0, t, 2, 0.5, staircase=True),
        "natural": tf.train.natural_exp_decay(1.0, t, 1, 0.5),
        "inverse": tf.train.inverse_time_decay(1.0, t, 1, 0.5),
        "polynomial": tf.train.polynomial_decay(1.0, t, 10, 0.0, power=2.0),
        "cycle": tf.train.polynomial_decay(1.0, t, 2, 0.0, cycle=True),
        "cosine": tf.train.cosine_decay(1.0, t, 10),
        "pieces": tf.train.piecewise_constant(t, [2, 4], [1.0, 0.5, 0.25]),
    }
    got = sess.run(rates, {t: 3})
    wanted = {
        "exponential": 0.5**1.5,
        "stairs": 0.5,
        "natural": np.exp(-1.5),
        "inverse": 0.4,
        "polynomial": 0.49,
        "cycle": 0.25,
        "cosine": (1 + np.cos(0.3 * np.pi)) / 2,
        "pieces": 0.5,
    }
    assert got == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(ValueError, match="1 less"):
        tf.train.piecewise_constant(t, [1], [1.0])


# ---- Losses and layers


def test_losses(run, graph):
    labels, p = tf.constant([[1.0], [0.0]]), tf.constant([[0.75], [0.5]])
    assert run(tf.losses.mean_squared_error(labels, p)) == pytest.approx((0.0625 + 0.25) / 2)
    assert run(tf.losses.absolute_difference(labels, p, weights=[[1.0], [0.0]])) == pytest.approx(
        0.25
    )
    total = run(tf.losses.absolute_difference(labels, p, reduction=tf.losses.Reduction.SUM))
    assert total == pytest.approx(0.75)
    assert run(tf.losses.log_loss(labels, p)) == pytest.approx(
        -(np.log(0.75) + np.log(0.5)) / 2, abs=1e-5
    )
    logits = tf.constant([[1.0, 3.0]])
    wanted = np.log(1 + np.exp(2.0))
    assert run(tf.losses.sparse_softmax_cross_entropy([0], logits)) == pytest.approx(
        wanted, rel=1e-5
    )
    assert run(tf.losses.softmax_cross_entropy([[1.0, 0.0]], logits)) == pytest.approx(
        wanted, rel=1e-5
    )
    assert run(tf.losses.sigmoid_cross_entropy([[1.0, 1.0]], logits)) > 0
    assert run(tf.losses.get_total_loss()) > 0 and len(tf.losses.get_losses()) == 7
    one_hot = [[1.0, 0.0]]
    for loss in (
        tf.nn.softmax_cross_entropy_with_logits(labels=one_hot, logits=logits),
        tf.nn.softmax_cross_entropy_with_logits_v2(one_hot, logits),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=logits),
    ):
        assert run(loss).tolist() == pytest.approx([wanted], rel=1e-5)
    with pytest.raises(ValueError, match="named arguments"):
        tf.nn.softmax_cross_entropy_with_logits(one_hot, logits)
    with pytest.raises(ValueError, match="Invalid Reduction"):
        tf.losses.compute_weighted_loss([1.0], reduction="no")


def test_dense_layers(run):
    x = tf.ones([2, 3])
    y = tf.layers.dense(
        x, 4, activation=tf.nn.relu, kernel_initializer=tf.ones_initializer(), name="out"
    )
    again = tf.layers.dense(
        2.0 * x, 4, kernel_initializer=tf.ones_initializer(), name="out", reuse=True
    )
    other = tf.layers.dense(tf.ones([2, 5, 3]), 2, use_bias=False)
    assert [v.name for v in tf.trainable_variables()] == [
        "out/kernel:0",
        "out/bias:0",
        "dense/kernel:0",
    ]
    assert run(y).tolist() == [[3] * 4] * 2 and run(again).tolist() == [[6] * 4] * 2
    assert other.shape.as_list() == [2, 5, 2]
    layer = tf.layers.Dense(2)
    layer(x), layer(x)
    assert len(layer.variables) == 2 and layer.name == "dense_1"
    assert tf.layers.flatten(tf.ones([2, 3, 4])).shape.as_list() == [2, 12]
    assert tf.layers.flatten(tf.placeholder(tf.float32, [None, 3, 4])).shape.as_list() == [None, 12]
    with pytest.raises(ValueError, match="last dimension"):
        tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2)


def test_dropout(run):
    x = tf.ones([1000])
    kept = run(tf.nn.dropout(x, keep_prob=0.25, seed=1))
    assert set(kept.tolist()) == {0.0, 4.0} and 150 < (kept > 0).sum() < 350
    assert run(tf.nn.dropout(x, rate=0.0)).tolist() == [1] * 1000
    off = tf.placeholder_with_default(False, [])
    assert run(tf.layers.dropout(x, 0.5, training=off)).tolist() == [1] * 1000
    with pytest.raises(ValueError, match="provide a rate"):
        tf.nn.dropout(x)
