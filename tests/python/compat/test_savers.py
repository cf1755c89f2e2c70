"""Savers: TensorFlow's checkpoints written and read, what folders hold, what is refused."""

import os

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def test_saver(run, sess, tmp_path):
    a, b = tf.Variable([1.0, 2.0], name="a"), tf.Variable(3, name="b", dtype=tf.int64)
    saver = tf.train.Saver(max_to_keep=2)
    run(a)
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        saver.restore(sess, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="None"):
        saver.restore(sess, None)
    paths = [saver.save(sess, str(tmp_path / "m"), global_step=i) for i in range(3)]
    assert saver.last_checkpoints == paths[1:] and not tf.train.checkpoint_exists(paths[0])
    assert sorted(os.listdir(tmp_path)) == ["checkpoint"] + [
        f"m-{i}.{ending}" for i in (1, 2) for ending in ("data-00000-of-00001", "index", "meta")
    ]
    assert tf.train.latest_checkpoint(tmp_path) == paths[2]
    assert tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths == paths[1:]
    assert tf.train.list_variables(str(tmp_path)) == [("a", [2]), ("b", [])]
    sess.run([a.assign([0.0, 0.0]), b.assign(0)])
    tf.train.Saver([a]).restore(sess, paths[1])
    assert sess.run([a, b])[0].tolist() == [1, 2] and sess.run(b) == 0
    with pytest.raises(tf.errors.NotFoundError, match="other"):
        tf.train.Saver({"other": a}).restore(sess, paths[1])
    assert tf.train.latest_checkpoint(tmp_path / "nowhere") is None
    assert os.path.basename(saver.save(sess, str(tmp_path / "plain"))) == "plain"


def test_values_of_all_types(run, sess, tmp_path):
    values = {
        "string": [b"a", b"\xff\x00"],
        "bool": [True, False],
        "complex64": [1 + 2j],
        "bfloat16": [1.5],
        "float16": [0.5],
        "int8": [-3],
        "uint64": [2**64 - 1],
        "float64": np.zeros([0, 2]),
    }
    made = {
        kind: tf.Variable(tf.constant(value, kind), name=kind) for kind, value in values.items()
    }
    saver = tf.train.Saver()
    run(list(made.values()))
    before = sess.run(made)
    path = saver.save(sess, tmp_path / "m")
    with tf.Session(graph=sess.graph) as other:
        saver.restore(other, path)
        for kind, value in other.run(made).items():
            np.testing.assert_array_equal(value, before[kind])
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_dtype_map()["bfloat16"] == tf.bfloat16 and reader.has_tensor(
        "int8"
    )
    np.testing.assert_array_equal(reader.get_tensor("uint64"), before["uint64"])
    np.testing.assert_array_equal(
        tf.train.load_variable(tmp_path, "complex64"), before["complex64"]
    )
    assert b"float64 (float64) [0, 2]" in reader.debug_string()
    with pytest.raises(tf.errors.NotFoundError, match="nothing"):
        reader.get_tensor("nothing")


def test_shapes_must_be_those_that_were_saved(run, sess, tmp_path):
    a = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="a")
    flat = tf.Variable([0.0] * 4, name="flat")
    any_shape = tf.Variable([0.0], name="any", validate_shape=False)
    run([a, flat, any_shape])
    path = tf.train.Saver([a]).save(sess, tmp_path / "m")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.train.Saver({"a": flat}).restore(sess, path)
    assert sess.run(flat).tolist() == [0, 0, 0, 0]
    tf.train.Saver({"a": flat}, reshape=True).restore(sess, path)
    assert sess.run(flat).tolist() == [1, 2, 3, 4]
    tf.train.Saver({"a": any_shape}).restore(sess, path)
    assert sess.run(any_shape.read_value()).tolist() == [[1, 2], [3, 4]]
    wide = tf.Variable(np.zeros([2, 2]), name="wide")
    with pytest.raises(tf.errors.InvalidArgumentError, match="float"):
        tf.train.Saver({"a": wide}).restore(sess, path)


def test_operations_have_the_peers_names(graph):
    tf.Variable(1.0, name="v")
    first, second = tf.train.Saver(), tf.train.Saver(name="mine")
    definition = first.as_saver_def()
    assert (
        definition.filename_tensor_name,
        definition.save_tensor_name,
        definition.restore_op_name,
    ) == ("save/Const:0", "save/control_dependency:0", "save/restore_all")
    assert definition.version == tf.train.SaverDef.V2 and definition.max_to_keep == 5
    assert second.saver_def.restore_op_name == "mine/restore_all"
    assert tf.train.Saver().saver_def.restore_op_name == "save_1/restore_all"
    assert {o.type for o in graph.get_operations()} >= {"SaveV2", "RestoreV2"}


def test_a_saver_of_operations_that_are_there(run, sess, tmp_path):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=1)
    run(v)
    again = tf.train.Saver.from_proto(saver.to_proto())
    count = len(sess.graph.get_operations())
    first = again.save(sess, tmp_path / "a", write_meta_graph=False)
    second = again.save(sess, tmp_path / "b", write_meta_graph=False)
    assert again.last_checkpoints == [second] and not tf.train.checkpoint_exists(first)
    assert len(sess.graph.get_operations()) == count
    sess.run(v.assign(5.0))
    again.restore(sess, second)
    assert sess.run(v) == 1


def test_without_variables(graph, tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    assert empty.save(tf.Session(), tmp_path / "m") is None and not os.listdir(tmp_path)
    late = tf.train.Saver(defer_build=True)
    with pytest.raises(RuntimeError, match="build"):
        late.save(tf.Session(), tmp_path / "m")
    tf.Variable(1.0, name="v")
    late.build()
    assert late.saver_def is not None
    with pytest.raises(ValueError, match="deferred"):
        tf.train.Saver(tf.global_variables(), defer_build=True)
    with pytest.raises(TypeError, match="saves variables"):
        tf.train.Saver({"a": tf.constant(1.0)})
    with tf.Graph().as_default():
        other = tf.Variable(1.0, name="v")
    with pytest.raises(ValueError, match="same name: v"):
        tf.train.Saver([other, tf.global_variables()[0]])
    with pytest.raises(NotImplementedError, match="version 2"):
        tf.train.Saver(write_version=1)


def test_some_of_those_that_go_stay(run, sess, tmp_path):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=0)
    run(v)
    paths = [saver.save(sess, tmp_path / "m", global_step=i) for i in range(3)]
    assert all(map(tf.train.checkpoint_exists, paths)) and saver.last_checkpoints == paths[2:]
    other = tf.train.Saver(max_to_keep=2)
    other.recover_last_checkpoints([*paths, str(tmp_path / "gone")])
    assert other.last_checkpoints == paths
    other.save(sess, tmp_path / "n")
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, False, True]
    other.set_last_checkpoints([paths[2]])
    assert other.last_checkpoints == [paths[2]]


def test_steps_of_any_kind(run, sess, tmp_path):
    step = tf.train.create_global_step()
    saver = tf.train.Saver(pad_step_number=True)
    run(step)
    sess.run(step.assign(7))
    steps = (step, 3, step.read_value())
    names = [saver.save(sess, tmp_path / "m", global_step=s, write_meta_graph=False) for s in steps]
    assert [os.path.basename(name) for name in names] == ["m-00000007", "m-00000003", "m-00000007"]


def test_eagerly(tmp_path):
    a, b = gyre.Variable([1.0, 2.0], name="a"), gyre.Variable(3, name="b")
    saver = tf.train.Saver([a, b])
    path = saver.save(None, tmp_path / "m", global_step=b)
    assert path.endswith("m-3") and not os.path.exists(path + ".meta")
    a.assign([0.0, 0.0])
    saver.restore(None, path)
    assert a.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="'a' of shape"):
        tf.train.Saver({"a": gyre.Variable([[1.0]])}).restore(None, path)
    with pytest.raises(RuntimeError, match="var_list"):
        tf.train.Saver()


# ---- What a folder holds


def test_the_state_of_a_folder(tmp_path):
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "m-2"\nall_model_checkpoint_paths: "m-1"\n'
        'all_model_checkpoint_paths: "a \\303\\251\\"\\\\"\nall_model_checkpoint_timestamps: '
        "1.5e9\n"
        "last_preserved_timestamp: inf\n"
    )
    state = gyre.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == str(tmp_path / "m-2")
    assert state.all_model_checkpoint_paths == [str(tmp_path / "m-1"), str(tmp_path / 'a é"\\')]
    assert (
        state.all_model_checkpoint_timestamps == [1.5e9]
        and state.last_preserved_timestamp == np.inf
    )
    assert gyre.train.latest_checkpoint(tmp_path) is None  # it is not there
    with pytest.raises(ValueError, match="Couldn't find"):
        gyre.train.load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "model_checkpoint_path: 3",
        'all_model_checkpoint_paths: "a"',
        'model_checkpoint_path: "a',
        "last_preserved_timestamp: x",
        "\x00",
    ],
)
def test_a_damaged_state_is_said_and_ignored(tmp_path, text):
    (tmp_path / "checkpoint").write_text(text)
    with pytest.warns(UserWarning, match="checkpoint is damaged, and ignored"):
        assert gyre.train.get_checkpoint_state(tmp_path) is None


def test_state_is_written_as_it_is_read(tmp_path, monkeypatch):
    tf.train.update_checkpoint_state(
        tmp_path,
        tmp_path / 'b"é',
        [tmp_path / "a"],
        latest_filename="own",
        all_model_checkpoint_timestamps=[1.0, 2.0],
    )
    state = gyre.train.get_checkpoint_state(tmp_path, "own")
    assert state.all_model_checkpoint_paths == [str(tmp_path / "a"), str(tmp_path / 'b"é')]
    with pytest.raises(ValueError, match="1 timestamps for 2"):
        tf.train.update_checkpoint_state(
            tmp_path, "b", ["a"], all_model_checkpoint_timestamps=[1.0]
        )
    monkeypatch.chdir(tmp_path)
    tf.train.update_checkpoint_state("", "b", ["a"])
    assert (tmp_path / "checkpoint").read_text().splitlines()[0] == 'model_checkpoint_path: "b"'
    assert gyre.train.get_checkpoint_state("").all_model_checkpoint_paths == ["a", "b"]


def test_a_folder_whose_name_is_no_text(tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    manager = gyre.train.CheckpointManager(gyre.train.Checkpoint(v=gyre.Variable(1.0)), folder, 3)
    path = manager.save()
    tf.train.update_checkpoint_state(folder, path, [path])
    assert gyre.train.latest_checkpoint(folder) == path
    again = gyre.train.CheckpointManager(gyre.train.Checkpoint(v=gyre.Variable(0.0)), folder, 3)
    assert again.checkpoints == [path] and again.restore_or_initialize() == path


def test_relative_paths_move_with_the_folder(run, sess, tmp_path):
    v = tf.Variable(1.0, name="v")
    run(v)
    tf.train.Saver(save_relative_paths=True).save(sess, tmp_path / "a" / "m")
    (tmp_path / "a").rename(tmp_path / "b")
    assert tf.train.latest_checkpoint(tmp_path / "b") == str(tmp_path / "b/m")
    tf.train.remove_checkpoint(tmp_path / "b/m")
    assert os.listdir(tmp_path / "b") == ["checkpoint"]
