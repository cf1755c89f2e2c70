"""Checkpoints: saved, restored, damaged, read by others."""

import collections
import json
import os
import warnings

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
    with pytest.raises(
        gyre.errors.InvalidArgumentError,
        match=r"'b' is float32 of shape \(1,\) there, .* float32 of shape \(1, 1\)",
    ):
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
    assert [checkpoint.save(tmp_path / "run") for _ in range(2)] == [
        str(tmp_path / f"run-{i}") for i in (1, 2)
    ]
    assert gyre.train.latest_checkpoint(tmp_path) == str(tmp_path / "run-2")
    again = gyre.train.Checkpoint(v=v)
    assert again.restore(gyre.train.latest_checkpoint(tmp_path)) == ["v"]
    assert int(again.save_counter) == 2 and again.save(tmp_path / "run") == str(tmp_path / "run-3")
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        *(f"run-{i}.safetensors" for i in (1, 2, 3)),
    ]


# ---- TensorFlow's checkpoints


def write_bundle(prefix, values):
    gyre.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(values),
        shape_and_slices=[""] * len(values),
        tensors=[gyre.constant(value) for value in values.values()],
    )


def test_checkpoints_of_objects_are_read(tmp_path):
    write_bundle(
        tmp_path / "ckpt-1",
        {
            "model/w/.ATTRIBUTES/VARIABLE_VALUE": [1.0, 2.0],
            "model/by.Sname..x/0/.ATTRIBUTES/VARIABLE_VALUE": 7,
            "save_counter/.ATTRIBUTES/VARIABLE_VALUE": 1,
            "_CHECKPOINTABLE_OBJECT_GRAPH": b"graph",
        },
    )
    w, n = gyre.Variable([0.0, 0.0]), gyre.Variable(0)
    checkpoint = gyre.train.Checkpoint(model={"w": w, "by/name.x": [n]})
    assert checkpoint.restore(tmp_path / "ckpt-1") == ["model/by/name.x/0", "model/w"]
    assert w.numpy().tolist() == [1, 2] and int(n) == 7
    with pytest.raises(gyre.errors.NotFoundError, match="'other'"):
        gyre.restore_variables(tmp_path / "ckpt-1", {"model": {"w": w}, "other": gyre.Variable(1)})
    assert gyre.train.Checkpoint(model={"w": w}).restore(tmp_path / "ckpt-1") == ["model/w"]


def test_checkpoints_by_name_are_read(tmp_path):
    write_bundle(tmp_path / "m", {"net/w": [3.0], "save_counter": 4})
    v, counter = gyre.Variable([0.0]), gyre.Variable(0)
    named = {"net": {"w": v}, "save_counter": counter}
    assert gyre.restore_variables(tmp_path / "m", named) == ["net/w", "save_counter"]
    assert float(v[0]) == 3 and int(counter) == 4
    (tmp_path / "m.index").write_bytes(b"junk")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="m.index"):
        gyre.restore_variables(tmp_path / "m", {"v": v})


# ---- What is saved, and what cannot be


def keys(path):
    return [name for name, _ in gyre.train.list_variables(path)]


def test_checkpoints_of_checkpoints_and_generators(tmp_path):
    v, w, g = gyre.Variable(1.0), gyre.Variable(2.0), gyre.random.Generator.from_seed(7)
    outer = gyre.train.Checkpoint(
        inner=gyre.train.Checkpoint(v=v), g=g, f=gyre.function(lambda x: x)
    )
    outer.later = w
    file = outer.write(tmp_path / "c")
    assert keys(file) == ["g/state", "inner/v", "later"]
    drawn = g.normal([2]).numpy()
    for variable in (v, w):
        variable.assign(0.0)
    assert outer.restore(file) == ["g/state", "inner/v", "later"]
    assert (float(v), float(w)) == (1, 2)
    np.testing.assert_array_equal(g.normal([2]).numpy(), drawn)


class Plain:
    """Not a Module: nobody looks into it."""

    def __init__(self):
        self.v = gyre.Variable(1.0)

    def __call__(self):
        return self.v


@pytest.mark.parametrize(
    "value",
    [3, 2.5, "text", np.zeros(2), gyre.constant(1.0), None, Plain, {1}, gyre.data.Dataset.range(3)],
)
def test_what_has_no_variables_is_refused(value):
    with pytest.raises(
        ValueError, match=f"cannot save 'x', a value of type {type(value).__name__}: hand over"
    ):
        gyre.train.Checkpoint(v=gyre.Variable(1.0), x=value)


def test_objects_that_nobody_looks_into_are_refused():
    for value in (Plain(), iter(gyre.data.Dataset.range(3))):
        with pytest.raises(ValueError, match="cannot save 'x'"):
            gyre.train.Checkpoint(x=value)
    with pytest.raises(ValueError, match="'save' itself"):
        gyre.train.Checkpoint(save=gyre.Variable(1.0))


def test_what_is_left_out_is_told(tmp_path):
    class Model(gyre.Module):
        def __init__(self, **attributes):
            super().__init__()
            self.w = gyre.Variable(1.0)
            vars(self).update(attributes)

    configured = Model(
        units=3, table=np.zeros(2), scale=gyre.constant(2.0), activation=gyre.tanh, sizes=[1, 2]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gyre.train.Checkpoint(model=configured).write(tmp_path / "quiet")
    for name, objects in {
        "state/step": {"state": {"step": 3, "w": gyre.Variable(1.0)}},
        "parts/1": {"parts": [gyre.Variable(1.0), gyre.constant(2.0)]},
        "model/plain": {"model": Model(plain=Plain())},
        "model/all": {"model": Model(all=collections.deque([gyre.Variable(1.0)]))},
        "model/rows": {"model": Model(rows=iter(gyre.data.Dataset.range(3)))},
    }.items():
        checkpoint = gyre.train.Checkpoint(**objects)
        with pytest.warns(
            UserWarning, match=f"leaves out '{name}', a value of type .*gyre.Variable"
        ):
            checkpoint.write(tmp_path / "told")
        with pytest.warns(UserWarning, match=f"leaves out '{name}'"):
            checkpoint.save(tmp_path / "told")


def test_names_that_are_equal_are_refused(tmp_path):
    v, w = gyre.Variable(1.0), gyre.Variable(2.0)
    with pytest.raises(ValueError, match=r"several variables are called \['a/b'\]"):
        gyre.save_variables(tmp_path, {"a/b": v, "a": {"b": w}})
    with pytest.raises(TypeError, match="a list of variables holds a value of type int"):
        gyre.save_variables(tmp_path, [v, 3])


# ---- Readers


def test_readers_read_what_checkpoints_wrote(tmp_path):
    checkpoint = gyre.train.Checkpoint(**make())
    path = checkpoint.save(tmp_path / "run")
    shapes = [("deep/0", []), ("half", [1]), ("n", []), ("w", [1, 2])]
    for place in (tmp_path, path, path + ".safetensors"):
        assert gyre.train.list_variables(place) == shapes
    reader = gyre.train.load_checkpoint(tmp_path)
    assert reader.get_variable_to_dtype_map()["half"] == gyre.bfloat16 and reader.has_tensor("w")
    assert reader.debug_string().splitlines()[-1] == b"w (float32) [1, 2]"
    np.testing.assert_array_equal(gyre.train.load_variable(path, "w"), [[1, 2]])
    with pytest.raises(gyre.errors.NotFoundError, match="no tensor 'x' in .*run-1.safetensors"):
        reader.get_tensor("x")
    gyre.save_variables(tmp_path / "folder", {"a": gyre.Variable(1.0)})
    assert gyre.train.list_variables(tmp_path / "folder") == [("a", [])]


def test_a_reader_keeps_what_it_opened(tmp_path):
    v = gyre.Variable([1.0, 2.0])
    checkpoint = gyre.train.Checkpoint(v=v)
    reader = gyre.train.load_checkpoint(checkpoint.write(tmp_path / "c"))
    v.assign([5.0, 6.0])
    checkpoint.write(tmp_path / "c")
    np.testing.assert_array_equal(reader.get_tensor("v"), [1, 2])


def test_readers_of_nothing(tmp_path):
    for use in (gyre.train.load_checkpoint, gyre.train.list_variables):
        with pytest.raises(
            gyre.errors.NotFoundError,
            match="no checkpoint at .*nowhere: neither .*nowhere.index, .* "
            "nor .*nowhere.safetensors",
        ):
            use(tmp_path / "nowhere")
        with pytest.raises(TypeError, match="needs a path"):
            use(None)
    from safetensors.numpy import save_file

    save_file({"w": np.zeros(2, "complex64")}, tmp_path / "x.safetensors")
    content = (tmp_path / "x.safetensors").read_bytes()
    (tmp_path / "x.safetensors").write_bytes(content.replace(b'"C64"', b'"F99"'))
    assert gyre.train.list_variables(tmp_path / "x") == [("w", [2])]
    with pytest.raises(gyre.errors.InvalidArgumentError, match="'w' in .* is of type F99"):
        gyre.train.load_variable(tmp_path / "x", "w")


# ---- Folders that C++ wrote


def crc32c(data):
    """The checksum itself, of the one that records of TensorFlow's files have."""
    rotated = (gyre._gyre.masked_crc32c(data) - 0xA282EAD8) % 2**32
    return (rotated >> 17 | rotated << 15) % 2**32


def save_as_the_core_does(folder, number=1, **arrays):
    """As gyre/core/session.h and src/session/checkpoint_manifest.h describe it."""
    from safetensors.numpy import save_file

    file = f"variables-{number}.safetensors"
    save_file(arrays, folder / file)
    inner = {
        "bytes": (folder / file).stat().st_size,
        "file": file,
        "format": 1,
        "tensors": {
            name: {
                "crc32c": crc32c(value.tobytes()),
                "dtype": value.dtype.name,
                "shape": list(value.shape),
            }
            for name, value in sorted(arrays.items())
        },
    }
    text = json.dumps(inner, separators=(",", ":"), sort_keys=True)
    manifest = {"checkpoint": inner, "crc32c": crc32c(text.encode())}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder / file


def test_a_folder_that_the_core_wrote_is_read(tmp_path):
    w, n = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(7)
    save_as_the_core_does(tmp_path, w=w, n=n)
    (tmp_path / "variables-9.safetensors").write_bytes(b"left behind by a writer that died")
    by_path = gyre.compat.v1.train.NewCheckpointReader(tmp_path)
    for reader in (gyre.train.load_checkpoint(tmp_path), by_path):
        assert reader.get_variable_to_shape_map() == {"w": [2, 3], "n": []}
        assert reader.get_variable_to_dtype_map() == {"w": gyre.float32, "n": gyre.int64}
        np.testing.assert_array_equal(reader.get_tensor("w"), w)
        with pytest.raises(gyre.errors.NotFoundError, match="'v'"):
            reader.get_tensor("v")
    assert gyre.train.list_variables(tmp_path) == [("n", []), ("w", [2, 3])]
    assert gyre.train.load_variable(str(tmp_path), "n") == 7


def test_a_reader_of_a_folder_keeps_the_checkpoint_that_it_opened(tmp_path):
    old = save_as_the_core_does(tmp_path, w=np.ones(3))
    reader = gyre.train.load_checkpoint(tmp_path)
    save_as_the_core_does(tmp_path, 2, w=np.zeros(3))
    old.unlink()
    np.testing.assert_array_equal(reader.get_tensor("w"), np.ones(3))
    np.testing.assert_array_equal(gyre.train.load_variable(tmp_path, "w"), np.zeros(3))


def test_damage_in_a_folder_that_the_core_wrote_is_told(tmp_path):
    file = save_as_the_core_does(tmp_path, w=np.ones(3))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    reader = gyre.train.load_checkpoint(tmp_path)
    with pytest.raises(gyre.errors.InvalidArgumentError, match="damaged.*'w'"):
        reader.get_tensor("w")
    file.write_bytes(data + b"x")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="bytes"):
        gyre.train.list_variables(tmp_path)
    file.unlink()
    with pytest.raises(gyre.errors.NotFoundError, match="variables-1"):
        gyre.train.list_variables(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="manifest"):
        gyre.train.list_variables(tmp_path)
