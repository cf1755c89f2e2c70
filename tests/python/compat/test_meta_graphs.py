"""MetaGraphs: graphs with their collections, out and in; variables as messages;
reference variables."""

from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format

import gyre.compat.v1 as tf

MODELS = Path(__file__).parents[2] / "saved_models"


def build():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=[[0.5, -0.25], [0.25, 0.5]], use_resource=True)
    count = tf.get_variable("count", initializer=0, trainable=False)
    h = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])[1]
    loss = tf.reduce_mean(tf.square(h - 0.5), name="loss")
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")
    tf.group(train, tf.assign_add(count, 1), name="step")
    tf.add_to_collection(tf.GraphKeys.LOSSES, loss)
    return w, count


FEED = {"x:0": [[1.0, -0.5]]}


@pytest.fixture
def saved(run, sess, tmp_path):
    """A path that was saved to after two steps, and the losses of the next two."""
    build()
    saver = tf.train.Saver()
    run(tf.no_op())
    for _ in range(2):
        sess.run("step", FEED)
    path = saver.save(sess, tmp_path / "m", global_step=2)
    return path, [[sess.run("step", FEED), sess.run("loss:0", FEED)][1] for _ in range(2)]


def test_training_goes_on(saved):
    path, losses = saved
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + ".meta")
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run("loss:0", FEED)
        saver.restore(sess, path)
        assert [v.name for v in tf.global_variables()] == ["w:0", "count:0"]
        assert [v.name for v in tf.trainable_variables()] == ["w:0"]
        assert tf.global_variables()[0] is tf.trainable_variables()[0]
        assert tf.get_collection(tf.GraphKeys.LOSSES) == [graph.get_tensor_by_name("loss:0")]
        assert [o.name for o in tf.get_collection(tf.GraphKeys.TRAIN_OP)] == ["train"]
        got = [[sess.run("step", FEED), sess.run("loss:0", FEED)][1] for _ in range(2)]
        np.testing.assert_allclose(got, losses, rtol=1e-6)
        assert sess.run(tf.global_variables()[1]) == sess.run("count:0") == 4
        sess.run(tf.global_variables_initializer())
        assert sess.run(tf.global_variables()[1]) == 0


@pytest.mark.parametrize("make", [build, lambda: tf.Variable(1.0, name="v")], ids=["loop", "plain"])
def test_what_savers_write_is_what_is_exported(run, sess, tmp_path, make):
    make()
    saver = tf.train.Saver()
    run(tf.no_op())
    saver.save(sess, tmp_path / "m")
    written = tf.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes())
    assert written == saver.export_meta_graph() and written.saver_def == saver.saver_def
    saver.save(sess, tmp_path / "m", strip_default_attrs=True)
    stripped = tf.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes())
    assert (
        stripped.meta_info_def.stripped_default_attrs and stripped.ByteSize() < written.ByteSize()
    )


def test_imported_variables_are_variables(saved):
    path, _ = saved
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.train.import_meta_graph(path + ".meta").restore(sess, path)
        w, count = tf.global_variables()
        assert w.shape.as_list() == [2, 2] and w.dtype == tf.float32 and w.graph is graph
        assert w.trainable and not count.trainable and w.op.type == "VarHandleOp"
        (slope,) = tf.gradients(tf.reduce_sum(w * w), [w])
        np.testing.assert_allclose(*sess.run([slope, 2.0 * w]))
        assert sess.run(count.assign_add(5)) == 7 and sess.run(count.is_initialized())
        count.load(3, sess)
        assert sess.run(count) == 3
        train = tf.train.AdamOptimizer(0.1).minimize(graph.get_tensor_by_name("loss:0"))
        sess.run(
            tf.variables_initializer([v for v in tf.global_variables() if v not in (w, count)])
        )
        before = sess.run("loss:0", FEED)
        for _ in range(5):
            sess.run(train, FEED)
        assert sess.run("loss:0", FEED) < before


@pytest.mark.parametrize("form", ["v2", "v1"])
def test_both_forms_of_control_flow(form):
    try:
        if form == "v1":
            tf.disable_control_flow_v2()
        with tf.Graph().as_default():
            build()
            definition = tf.train.export_meta_graph()
    finally:
        tf.enable_control_flow_v2()
    data = definition.SerializeToString()
    assert b"_MatMulAdd" not in data and (b"NextIteration" in data) == (form == "v1")
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(definition)
        sess.run(tf.global_variables_initializer())
        losses = [[sess.run("step", FEED), sess.run("loss:0", FEED)][1] for _ in range(4)]
        assert losses == sorted(losses, reverse=True) and losses[3] < 0.9 * losses[0]


def test_import_behind_a_scope(saved):
    path, losses = saved
    with tf.Graph().as_default(), tf.Session() as sess:
        for scope in ("a", "a", "b/c"):
            tf.train.import_meta_graph(path + ".meta", import_scope=scope).restore(sess, path)
        assert [v.name for v in tf.global_variables()] == [
            f"{scope}/{name}:0" for scope in ("a", "a_1", "b/c") for name in ("w", "count")
        ]
        # Their variables keep the names under which sessions know them, and so are the same, as the
        # peer's.
        sess.run("a_1/step", {"a_1/x:0": FEED["x:0"]})
        got = sess.run(["a/loss:0", "b/c/loss:0"], {f"{s}/x:0": FEED["x:0"] for s in ("a", "b/c")})
        np.testing.assert_allclose(got, [losses[0]] * 2, rtol=1e-6)
        assert tf.get_collection(tf.GraphKeys.LOSSES)[2].name == "b/c/loss:0"


def test_import_within_a_scope(saved):
    path, losses = saved
    with tf.Graph().as_default(), tf.Session() as sess, tf.name_scope("outer"):
        for scope, prefix in ((None, "outer"), ("a", "outer/a"), ("a", "outer/a_1")):
            tf.train.import_meta_graph(path + ".meta", import_scope=scope).restore(sess, path)
            assert tf.global_variables()[-2].name == f"{prefix}/w:0"
            assert np.isfinite(sess.run(f"{prefix}/loss:0", {f"{prefix}/x:0": FEED["x:0"]}))


def test_parts_are_chosen(saved):
    path, _ = saved
    with tf.Graph().as_default():
        y = tf.constant([[0.0, 0.0]])
        saver, (loss, step) = tf.train.import_meta_graph(
            path + ".meta",
            input_map={"x:0": y},
            return_elements=["loss:0", "step"],
            restore_collections_predicate=lambda key: key != tf.GraphKeys.TRAINABLE_VARIABLES,
        )
        assert tf.trainable_variables() == [] and len(tf.global_variables()) == 2
        with tf.Session() as sess:
            saver.restore(sess, path)
            assert sess.run(loss) == 0.25 and step.name == "step"


def test_a_new_saver_is_made_where_there_was_none(run, sess, tmp_path):
    build()
    definition = tf.train.export_meta_graph(tmp_path / "plain.meta")
    assert not definition.HasField("saver_def")
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(tmp_path / "plain.meta")
        assert saver.saver_def.restore_op_name == "save/restore_all"
    with tf.Graph().as_default():
        tf.constant(1.0)
        empty = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(empty) is None


def test_collections(graph):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver(name="mine")
    items = {
        "nodes": [v.op, v.initial_value],
        "numbers": [1, -2],
        "rates": [0.5],
        "words": ["a", b"b\xff"],
        tf.GraphKeys.SAVERS: [saver],
        tf.GraphKeys.LOCAL_VARIABLES: [v],
    }
    for key, values in items.items():
        for value in values:
            tf.add_to_collection(key, value)
    tf.add_to_collection(3, "not a name")
    tf.add_to_collection("things", object())
    with pytest.warns(UserWarning, match="'things' is not written: a object has no name"):
        definition = tf.train.export_meta_graph()
    assert sorted(definition.collection_def) == sorted(
        [*items, tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES]
    )
    only = tf.train.export_meta_graph(collection_list=["numbers"])
    assert list(only.collection_def) == ["numbers"] and only.collection_def[
        "numbers"
    ].int64_list.value == [1, -2]
    with tf.Graph().as_default():
        tf.train.import_meta_graph(definition)
        (variable,) = tf.global_variables()
        assert tf.get_collection("nodes") == [variable.op, variable.initial_value]
        assert tf.get_collection("numbers") == [1, -2] and tf.get_collection("rates") == [0.5]
        assert tf.get_collection("words") == [b"a", b"b\xff"] and tf.local_variables() == [variable]
        assert (
            tf.get_collection(tf.GraphKeys.SAVERS)[0].saver_def.restore_op_name
            == "mine/restore_all"
        )


def test_parts_of_graphs(graph):
    with tf.name_scope("a"), tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
        tf.add_to_collection("ys", tf.identity(v * 2.0, name="y"))
    with tf.name_scope("b"):
        tf.identity(graph.get_tensor_by_name("a/y:0") + 1.0, name="z")
    part = tf.train.export_meta_graph(export_scope="a", clear_devices=True)
    assert {node.name for node in part.graph_def.node} >= {"v", "y"} and not any(
        n.device for n in part.graph_def.node
    )
    assert list(part.collection_def["ys"].node_list.value) == ["y:0"]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(part, import_scope="n")
        sess.run(tf.global_variables_initializer())
        assert sess.run("n/y:0").tolist() == [2, 4]
    with pytest.raises(ValueError, match="uses a/y from outside"):
        tf.train.export_meta_graph(export_scope="b")
    assert any(
        "CPU:0" in node.device.upper() for node in tf.train.export_meta_graph().graph_def.node
    )


def test_attributes_that_have_their_defaults_are_left_out(graph):
    tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), transpose_b=True, name="m")
    plain, stripped = (
        tf.train.export_meta_graph(strip_default_attrs=strip) for strip in (False, True)
    )
    attrs = [{n.name: n for n in made.graph_def.node}["m"].attr for made in (plain, stripped)]
    assert "transpose_a" in attrs[0] and "transpose_a" not in attrs[1] and attrs[1]["transpose_b"].b
    assert stripped.meta_info_def.stripped_default_attrs
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(stripped)
        assert sess.run("m:0").tolist() == [[2, 2], [2, 2]]


def test_what_is_refused(graph, tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(tmp_path / "nothing.meta")
    (tmp_path / "junk.meta").write_bytes(b"\xff\xff")
    with pytest.raises(ValueError, match="junk.meta holds no MetaGraph: not a MetaGraphDef"):
        tf.train.import_meta_graph(tmp_path / "junk.meta")
    with pytest.raises(NotImplementedError, match="other Savers"):
        tf.train.export_meta_graph(clear_extraneous_savers=True)
    with pytest.raises(NotImplementedError, match="save_debug_info"):
        tf.train.export_meta_graph(save_debug_info=True)
    with pytest.raises(TypeError, match="nonsense"):
        tf.train.export_meta_graph(nonsense=1)
    unbound = tf.MetaGraphDef()
    unbound.collection_def["unbound_inputs"].bytes_list.value.append(b"$unbound_inputs_x")
    with pytest.raises(ValueError, match="unbound inputs: .unbound_inputs_x"):
        tf.train.import_meta_graph(unbound)


def test_eager_execution_is_refused():
    for function in (tf.train.export_meta_graph, lambda: tf.train.import_meta_graph("x")):
        with pytest.raises(RuntimeError, match="(?i)eager execution"):
            function()


def test_as_text(graph, tmp_path):
    tf.Variable(1.0, name="v")
    definition = tf.train.export_meta_graph(tmp_path / "v.meta", as_text=True)
    text = (tmp_path / "v.meta").read_text()
    assert "  node {\n" in text and "type: DT_FLOAT\n" in text
    assert text_format.Parse(text, tf.MetaGraphDef()) == definition
    with tf.Graph().as_default() as other:
        tf.train.import_meta_graph(tmp_path / "v.meta")
        assert other.get_operation_by_name("v").type == "VarHandleOp"
        assert [v.name for v in tf.global_variables()] == ["v:0"]


# ---- Variables as messages


def test_variables_as_messages(run, sess):
    with tf.variable_scope("s"):
        v = tf.get_variable("v", initializer=[1.0, 2.0], trainable=False)
    message = v.to_proto()
    assert message.variable_name == "s/v:0" and message.is_resource and not message.trainable
    assert v.to_proto("s").variable_name == "v:0" and v.to_proto("other") is None
    same = tf.Variable.from_proto(message)
    run(v)
    assert sess.run(same).tolist() == [1, 2] and same.name == v.name and same.op == v.op
    assert tf.Variable.from_proto(v.to_proto("s"), import_scope="s").to_proto() == message
    message.variable_name = "nothing:0"
    with pytest.raises(KeyError, match="nothing"):
        tf.Variable.from_proto(message)


# ---- Reference variables


@pytest.fixture
def references():
    """The session of a graph with reference variables, those of one table in three parts."""
    folder = MODELS / "v1_meta_partitioned/v1"
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(folder / "model.meta").restore(sess, folder / "model")
        yield sess


@pytest.fixture
def reference():
    """A reference variable, [1, 2, 3] at first, and the session of its graph."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        value = tf.constant([1.0, 2.0, 3.0], name="value")
        ref = tf.raw_ops.VariableV2(shape=[3], dtype=tf.float32, name="v")
        tf.raw_ops.Assign(ref=ref, value=value, name="v/Assign")
        tf.raw_ops.Identity(input=ref, name="v/read")
        message = tf.Variable(0.0, name="any").to_proto()
        message.variable_name, message.initializer_name = "v:0", "v/Assign"
        message.snapshot_name, message.initial_value_name = "v/read:0", "value:0"
        message.is_resource = False
        variable = tf.Variable.from_proto(message)
        assert variable.to_proto() == message and variable.graph is graph
        sess.run(variable.initializer)
        yield variable


def test_reference_variables_are_variables(reference):
    sess = tf.get_default_session()
    assert reference.op.type == "VariableV2" and "_ref" in repr(reference)
    assert sess.run(reference.assign_add([1.0, 1.0, 1.0])).tolist() == [2, 3, 4]
    assert sess.run(reference.assign_sub([2.0, 0.0, 0.0])).tolist() == [0, 3, 4]
    assert sess.run(reference.assign([5.0, 6.0, 7.0])).tolist() == [5, 6, 7]
    assert sess.run(reference).tolist() == [5, 6, 7] and sess.run(reference.is_initialized())
    assert sess.run(reference.assign([0.5, 0.5, 0.5], read_value=False)) is None
    reference.load([1.0, 2.0, 3.0], sess)
    assert sess.run(reference * 2.0).tolist() == [2, 4, 6]
    with pytest.raises(NotImplementedError, match="is a reference variable of an imported graph"):
        tf.scatter_update(reference, [0], [0.0])


def test_reference_variables_are_trained(reference):
    sess = tf.get_default_session()
    loss = tf.reduce_sum(tf.square(reference - 0.5))
    (slope,) = tf.gradients(loss, [reference])
    assert sess.run(slope).tolist() == [1, 3, 5]
    train = reference.assign_sub(0.25 * slope)
    for _ in range(3):
        sess.run(train)
    np.testing.assert_array_equal(sess.run(reference), [0.5625, 0.6875, 0.8125])
    with pytest.raises(NotImplementedError, match="'v:0' is a reference variable.*assign_sub"):
        tf.train.AdamOptimizer(0.1).minimize(loss, var_list=[reference])


def test_parts_of_a_table_are_saved_as_one(references, tmp_path):
    sess = references
    parts = tf.global_variables()[:3]
    table = np.concatenate(sess.run(parts))
    path = tf.train.Saver().save(sess, tmp_path / "m")
    np.testing.assert_array_equal(tf.train.load_variable(path, "table"), table)
    sess.run([part.assign(tf.zeros_like(part)) for part in parts])
    tf.train.import_meta_graph(path + ".meta", import_scope="again").restore(sess, path)
    tf.train.Saver(parts).restore(sess, path)
    np.testing.assert_array_equal(np.concatenate(sess.run(parts)), table)
    again = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "again")[:3]
    np.testing.assert_array_equal(np.concatenate(sess.run(again)), table)
