"""Checkpoints: saved, restored, damaged, read by others."""

import os

import numpy as np
import pytest

import gyre


def make():
    return {
        "w": gyre.Variable([[1.0, 2.0]]),
        "n": gyre.Variable(3),
        "half": gyre.Variable([1.5], dtype=gyre.bfloat16),
        "deep": [gyre.Variable(True, trainable=False)],
    }


def test_round_trip(tmp_path):
    saved, other = make(), make()
    file = gyre.save_variables(tmp_path, saved)
    other["w"].assign([[0.0, 0.0]])
    other["n"].assign(0)
    assert gyre.restore_variables(tmp_path, other) == ["deep/0", "half", "n", "w"]
    np.testing.assert_array_equal(other["w"].numpy(), [[1, 2]])
    assert int(other["n"]) == 3
    assert os.listdir(tmp_path) == [os.path.basename(file)]


def test_others_read_it(tmp_path):
    from safetensors.numpy import load_file, save_file

    file = gyre.save_variables(
        tmp_path / "x.safetensors", {"w": gyre.Variable([[1.0, 2.0]]), "n": gyre.Variable(3)}
    )
    found = load_file(file)
    np.testing.assert_array_equal(found["w"], [[1, 2]])
    save_file({"w": np.array([[5.0, 6.0]], "float32")}, tmp_path / "y.safetensors")
    v = gyre.Variable([[0.0, 0.0]])
    gyre.restore_variables(tmp_path / "y.safetensors", {"w": v})
    np.testing.assert_array_equal(v.numpy(), [[5, 6]])


def test_what_does_not_fit(tmp_path):
    gyre.save_variables(tmp_path, {"a": gyre.Variable([1.0]), "b": gyre.Variable([2.0])})
    a = gyre.Variable([9.0])
    with pytest.raises(gyre.errors.NotFoundError, match="'c'"):
        gyre.restore_variables(tmp_path, {"a": a, "c": gyre.Variable(1.0)})
    assert gyre.restore_variables(tmp_path, {"a": a, "c": gyre.Variable(1.0)}, partial=True) == [
        "a"
    ]
    a.assign([9.0])
    with pytest.raises(gyre.errors.InvalidArgumentError, match=r"'b' is float32 of shape \(1,\) there, .* float32 of shape \(1, 1\)"):
        gyre.restore_variables(tmp_path, {"a": a, "b": gyre.Variable([[1.0]])})
    assert float(a[0]) == 9
    with pytest.raises(gyre.errors.NotFoundError):
        gyre.restore_variables(tmp_path / "nowhere", {"a": a})
    with pytest.raises(ValueError, match="string"):
        gyre.save_variables(tmp_path, {"s": gyre.Variable("text")})


@pytest.mark.parametrize(
    "change",
    [lambda c: c[:-1], lambda c: c[:-4] + b"\0\0\0\1", lambda c: b"", lambda c: b"\xff" * 64],
)
def test_damage_is_noticed(tmp_path, change):
    file = gyre.save_variables(tmp_path, {"a": gyre.Variable([1.0, 2.0])})
    with open(file, "rb") as source:
        content = source.read()
    with open(file, "wb") as out:
        out.write(change(content))
    with pytest.raises(gyre.errors.DataLossError):
        gyre.restore_variables(tmp_path, {"a": gyre.Variable([0.0, 0.0])})


def test_training_goes_on_as_if_nothing_had_happened(tmp_path):
    def start():
        w = gyre.Variable([1.0, -2.0])
        optimizer = gyre.optimizers.Adam(0.1)
        optimizer.build([w])
        return w, optimizer, gyre.train.Checkpoint(w=w, optimizer=optimizer)

    def train(w, optimizer, steps):
        for _ in range(steps):
            optimizer.minimize(lambda: gyre.reduce_sum(w**4), [w])

    w, optimizer, checkpoint = start()
    train(w, optimizer, 3)
    file = checkpoint.save(tmp_path / "run")
    train(w, optimizer, 3)
    again, other, restored = start()
    restored.restore(file)
    assert int(other.iterations) == 3
    train(again, other, 3)
    np.testing.assert_array_equal(again.numpy(), w.numpy())


def test_a_path_is_a_path(tmp_path):
    checkpoint = gyre.train.Checkpoint(v=gyre.Variable(1.0))
    for wrong, kind in ((None, TypeError), ("", ValueError)):
        for use in (checkpoint.write, checkpoint.save):
            with pytest.raises(kind, match="needs a path"):
                use(wrong)
    assert checkpoint.restore(None) == []
    with pytest.raises(gyre.errors.NotFoundError, match="no checkpoint at .*nowhere"):
        checkpoint.restore(tmp_path / "nowhere")


def test_a_series_goes_on_in_the_next_process(tmp_path):
    v = gyre.Variable(1.0)
    checkpoint = gyre.train.Checkpoint(v=v)
    assert [checkpoint.save(tmp_path / "run") for _ in range(2)] == [str(tmp_path / f"run-{i}") for i in (1, 2)]
    assert gyre.train.latest_checkpoint(tmp_path) == str(tmp_path / "run-2")
    again = gyre.train.Checkpoint(v=v)
    assert again.restore(gyre.train.latest_checkpoint(tmp_path)) == ["v"]
    assert int(again.save_counter) == 2 and again.save(tmp_path / "run") == str(tmp_path / "run-3")
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", *(f"run-{i}.safetensors" for i in (1, 2, 3))]


# ---- TensorFlow's checkpoints


def write_bundle(prefix, values):
    gyre.raw_ops.SaveV2(prefix=str(prefix), tensor_names=list(values), shape_and_slices=[""] * len(values),
                        tensors=[gyre.constant(value) for value in values.values()])


def test_checkpoints_of_objects_are_read(tmp_path):
    write_bundle(tmp_path / "ckpt-1", {
        "model/w/.ATTRIBUTES/VARIABLE_VALUE": [1.0, 2.0], "model/by.Sname..x/0/.ATTRIBUTES/VARIABLE_VALUE": 7,
        "save_counter/.ATTRIBUTES/VARIABLE_VALUE": 1, "_CHECKPOINTABLE_OBJECT_GRAPH": b"graph"})
    w, n = gyre.Variable([0.0, 0.0]), gyre.Variable(0)
    checkpoint = gyre.train.Checkpoint(model={"w": w, "by/name.x": [n]})
    assert checkpoint.restore(tmp_path / "ckpt-1") == ["model/by/name.x/0", "model/w"]
    assert w.numpy().tolist() == [1, 2] and int(n) == 7
    with pytest.raises(gyre.errors.NotFoundError, match="'other'"):
        gyre.train.Checkpoint(model={"w": w}, other=gyre.Variable(1)).restore(tmp_path / "ckpt-1")
    assert gyre.train.Checkpoint(model={"w": w}).restore(tmp_path / "ckpt-1", partial=True) == ["model/w"]


def test_checkpoints_by_name_are_read(tmp_path):
    write_bundle(tmp_path / "m", {"net/w": [3.0], "save_counter": 4})
    v, counter = gyre.Variable([0.0]), gyre.Variable(0)
    named = {"net": {"w": v}, "save_counter": counter}
    assert gyre.restore_variables(tmp_path / "m", named) == ["net/w", "save_counter"]
    assert float(v[0]) == 3 and int(counter) == 4
    (tmp_path / "m.index").write_bytes(b"junk")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="m.index"):
        gyre.restore_variables(tmp_path / "m", {"v": v})
