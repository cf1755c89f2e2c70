"""Variables, scopes, initializers, assignments."""

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def names(graph):
    return [operation.name for operation in graph.get_operations()]


def test_operations_of_a_resource_variable(graph):
    v = tf.Variable(1.0, use_resource=True)
    assert names(graph) == [
        "Variable/Initializer/initial_value",
        "Variable",
        "Variable/IsInitialized/VarIsInitializedOp",
        "Variable/Assign",
        "Variable/Read/ReadVariableOp",
    ]
    assert (
        v.name == "Variable:0"
        and v.op.type == "VarHandleOp"
        and v.initializer.name == "Variable/Assign"
    )


def test_operations_of_a_reference_variable(graph):
    v = tf.Variable([1.0, 2.0], name="u", use_resource=False)
    assert names(graph) == ["u/initial_value", "u", "u/Assign", "u/read"]
    assert "float32_ref" in repr(v) and v.shape.as_list() == [2] and v.get_shape().ndims == 1


def test_uninitialised(sess):
    v = tf.Variable(1.0, name="weights")
    with pytest.raises(tf.errors.FailedPreconditionError, match="weights.*initialize"):
        sess.run(v + 1.0)
    assert sess.run(tf.report_uninitialized_variables()).tolist() == [b"weights"]
    assert not sess.run(tf.is_variable_initialized(v))
    assert sess.run(v.initialized_value()) == 1.0
    sess.run(v.initializer)
    assert sess.run(tf.report_uninitialized_variables()).size == 0 and sess.run(v.is_initialized())


def test_assignments(run, sess):
    v = tf.Variable([1.0, 2.0])
    assert run(tf.assign(v, [3.0, 4.0])).tolist() == [3, 4]
    assert sess.run(tf.assign_add(v, [1.0, 1.0])).tolist() == [4, 5]
    assert sess.run(tf.assign_sub(v, [4.0, 0.0])).tolist() == [0, 5]
    assert sess.run(v.assign([9.0, 9.0], read_value=False)) is None
    assert sess.run(tf.scatter_update(v, [0], [1.0])).tolist() == [1, 9]
    assert sess.run(tf.scatter_add(v, [0, 0], [1.0, 1.0])).tolist() == [3, 9]
    assert sess.run(tf.scatter_sub(v, [1], [4.0])).tolist() == [3, 5]
    assert sess.run(tf.scatter_mul(v, [1], [2.0])).tolist() == [3, 10]
    assert sess.run(tf.scatter_nd_update(v, [[0]], [7.0])).tolist() == [7, 10]
    assert sess.run(tf.scatter_nd_add(v, [[0]], [1.0])).tolist() == [8, 10]
    assert sess.run(tf.scatter_nd_sub(v, [[1]], [1.0])).tolist() == [8, 9]
    v.load([0.5, 0.25], sess)
    assert v.eval().tolist() == [0.5, 0.25]


def test_refused_assignments(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(ValueError):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError):
        v.assign(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="a Variable is wanted"):
        tf.assign(tf.constant(1.0), 2.0)
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with pytest.raises(ValueError, match="validate_shape=False"):
        tf.Variable(tf.placeholder(tf.float32, [None]))
    with pytest.raises(NotImplementedError):
        v.numpy()
    with pytest.raises(TypeError, match="not iterable"):
        list(v)


def test_shapes_that_change(run, sess):
    v = tf.Variable([1.0], validate_shape=False)
    run(v)
    assert sess.run(v.assign([1.0, 2.0, 3.0])).tolist() == [1, 2, 3] and v.shape.rank is None


def test_initial_values(run):
    a = tf.Variable(lambda: tf.constant(2.0) * 3.0)
    b = tf.Variable(a.initial_value + 1.0)
    c = tf.Variable([tf.constant(1.0), 2.0])
    d = tf.Variable(3, dtype=tf.float64)
    assert [x.tolist() for x in run([a, b, c, d])] == [6.0, 7.0, [1.0, 2.0], 3.0]
    assert d.dtype == tf.float64


def test_variables_made_in_bodies_stand_outside(run, sess):
    made = []

    def body(i):
        with tf.variable_scope("loop", reuse=tf.AUTO_REUSE):
            made.append(tf.get_variable("step", initializer=2))
        return i + made[-1]

    total = tf.while_loop(lambda i: i < 7, body, [0])
    assert run(total) == 8 and made[0].op.graph is total.graph and len(tf.global_variables()) == 1


def test_collections(graph):
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, trainable=False, name="b")
    c = tf.get_local_variable("c", [], initializer=tf.zeros_initializer())
    d = tf.Variable(1.0, collections=["mine"], name="d", trainable=False)
    assert tf.global_variables() == [a, b] and tf.trainable_variables() == [a]
    assert tf.local_variables() == [c] and tf.get_collection("mine") == [d]
    assert tf.model_variables() == [] and tf.all_variables() == [a, b]
    assert tf.local_variables_initializer().type == "NoOp"


def test_variable_scopes(run):
    with tf.variable_scope("a", initializer=tf.constant_initializer(2.0), dtype=tf.float64) as a:
        with tf.variable_scope("b"):
            v = tf.get_variable("v", [2])
        with pytest.raises(ValueError, match="already exists, disallowed.*test_variables.py"):
            tf.get_variable("b/v", [2])
    assert v.name == "a/b/v:0" and v.dtype == tf.float64 and run(v).tolist() == [2, 2]
    with tf.variable_scope(a, reuse=True):
        assert tf.get_variable("b/v", [2], dtype=tf.float64) is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("b/v", [3], dtype=tf.float64)
        with pytest.raises(ValueError, match="specified dtype"):
            tf.get_variable("b/v", [2], dtype=tf.float32)
    with tf.variable_scope("a"):
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable("b/v", [2], dtype=tf.float64) is v
    assert a.name == "a" and a.trainable_variables() == [v] and a.global_variables() == [v]
    assert tf.get_variable_scope().name == ""


def test_names_of_scopes(graph):
    with tf.variable_scope("vs") as first:
        tf.constant(1.0)
        with tf.variable_scope("in"):
            assert tf.get_variable("z", []).name == "vs/in/z:0"
    with tf.variable_scope("vs", reuse=True) as second:
        assert tf.constant(1.0).name == "vs_1/Const:0"
    with tf.variable_scope(None, "dflt"):
        assert tf.get_variable("z", []).name == "dflt/z:0"
    with tf.variable_scope(None, "dflt"):
        assert (tf.get_variable("z", []).name, tf.Variable(1.0).name) == (
            "dflt_1/z:0",
            "dflt_1/Variable:0",
        )
    with tf.variable_scope("vs"):
        assert tf.Variable(1.0).name == "vs_2/Variable:0"
    assert (first.original_name_scope, second.original_name_scope) == ("vs/", "vs_1/")


def test_custom_getters_and_regularizers(run):
    def double(getter, name, *args, **kwargs):
        return getter(name + "_raw", *args, **kwargs) * 2.0

    with tf.variable_scope(
        "s", custom_getter=double, regularizer=lambda v: tf.reduce_sum(v) * 10.0
    ):
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    assert run(w).tolist() == [2, 2] and [v.name for v in tf.global_variables()] == ["s/w_raw:0"]
    assert run(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == [20.0]
    assert run(tf.losses.get_regularization_loss()) == 20.0


def test_refused_scopes(graph):
    with pytest.raises(NotImplementedError, match="not partitioned"):
        tf.get_variable("v", [2], partitioner=lambda shape, dtype: [1])
    with pytest.raises(ValueError, match="must be fully defined"):
        tf.get_variable("v", [None])
    with pytest.raises(ValueError, match="name_or_scope is required"):
        tf.variable_scope(None)


def test_initializers(run):
    made = {
        "constant": tf.constant_initializer([1, 2, 3]),
        "zeros": tf.zeros_initializer,
        "ones": tf.ones_initializer(),
        "orthogonal": tf.orthogonal_initializer(seed=1),
        "identity": tf.initializers.identity(gain=2.0),
        "uniform": tf.random_uniform_initializer(5.0, 6.0, seed=1),
        "normal": tf.random_normal_initializer(100.0, 1e-3),
        "truncated": tf.truncated_normal_initializer(),
        "glorot": tf.glorot_normal_initializer(),
        "scaled": tf.variance_scaling_initializer(),
        "unit": tf.uniform_unit_scaling_initializer(),
    }
    got = run(
        {name: tf.get_variable(name, [3, 3], initializer=kind) for name, kind in made.items()}
    )
    assert got["constant"].tolist() == [[1, 2, 3], [3, 3, 3], [3, 3, 3]]
    assert not got["zeros"].any() and (got["ones"] == 1).all()
    assert np.allclose(got["orthogonal"] @ got["orthogonal"].T, np.eye(3), atol=1e-5)
    assert got["identity"].tolist() == (2 * np.eye(3)).tolist()
    assert (got["uniform"] >= 5).all() and (got["uniform"] < 6).all()
    assert np.allclose(got["normal"], 100, atol=0.1) and (abs(got["truncated"]) <= 2).all()
    assert tf.get_variable("default", [2], dtype=tf.int32).dtype == tf.int32
    with pytest.raises(TypeError, match="Invalid type"):
        tf.constant_initializer(object())


def test_seeds(graph):
    def draw(seed):
        with tf.Graph().as_default():
            tf.set_random_seed(seed)
            values = [
                tf.random_normal([2]),
                tf.random_uniform([2], seed=3),
                tf.truncated_normal([2]),
                tf.random_uniform([2], 5, 10, tf.int32),
                tf.random_shuffle([1, 2, 3]),
                tf.multinomial(tf.zeros([1, 4]), 3),
            ]
            return tf.Session().run(values)

    first, second, third = draw(1), draw(1), draw(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, second))
    assert not np.array_equal(first[0], third[0])
    assert (first[3] >= 5).all() and sorted(first[4]) == [1, 2, 3] and first[5].shape == (1, 3)


def test_eager_variables_stay_what_they_are():
    v = tf.Variable(2.0, trainable=False, use_resource=True)
    assert float(v) == 2.0 and not v.trainable


@pytest.mark.parametrize("v2", [False, True], ids=["control-flow-v1", "control-flow-v2"])
def test_variables_stand_on_the_device_around_them(v2):
    (tf.enable_control_flow_v2 if v2 else tf.disable_control_flow_v2)()
    inside = []

    def body(i):
        with tf.device("/job:worker/task:2"):
            inside.append(tf.get_variable("inside", [2]))
        return i + 1

    with tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            variables = [
                tf.Variable(1.0),
                tf.Variable(lambda: 1.0),
                tf.get_variable("number", initializer=1.0),
                tf.get_variable("shape", [2]),
            ]
        with tf.device("/job:worker/task:3"):
            tf.while_loop(lambda i: i < 3, body, [0])
        outside = tf.get_variable("outside", [2])
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(tf.reduce_sum(variables[3] ** 2))
        slot = optimizer.get_slot(variables[3], "momentum")
    for variable in (*variables, slot):
        assert variable.device == variable.op.device == "/job:worker/task:1"
        assert variable.initializer.device == "/job:worker/task:1"
    assert inside[0].device == "/job:worker/task:2" and outside.device == ""


def test_variables_of_values_that_functions_compute(run):
    made = []

    @gyre.function
    def f(x):
        if not made:
            two = tf.constant(2.0)
            made.append(tf.Variable(tf.sqrt(two * two) + 4.0))
            made.append(tf.Variable(tf.placeholder_with_default(3.0, [])))
        return made[0] * x + made[1]

    assert run(f(tf.constant(3.0))) == 21.0

    @gyre.function
    def g(x):
        return tf.Variable(x)

    with pytest.raises(tf.errors.InvalidArgumentError, match="hangs on"):
        g(tf.constant(1.0))


def test_references_of_raw_variables(run):
    v = gyre.raw_ops.Variable(shape=[1], dtype=tf.float32)
    is_there = tf.is_variable_initialized(v)
    assert not run(is_there)
    assert run(tf.assign(v, [2.0])).tolist() == [2.0] and run(is_there)
    assert run(tf.assign_add(v, [3.0])).tolist() == [5.0]
    assert run(tf.assign_sub(v, [1.0])).tolist() == [4.0]


def test_what_functions_touch_is_known(graph):
    v, w = (tf.Variable(1.0, use_resource=True, name=n) for n in "vw")

    def changed(variable):
        return lambda: tf.identity(variable.assign_add(1.0))

    @gyre.function
    def f():
        for i, variable in enumerate((v, v, w, w)):
            tf.cond(tf.constant(True), changed(variable), lambda: 0.0, name=f"c{i}")

    made = f.get_concrete_function().graph
    made = [made.get_operation_by_name(f"c{i}") for i in range(4)]
    before = [[o.name for o in one.control_inputs] for one in made]
    assert before == [[], ["c0"], [], ["c2"]]
