"""Files that are torn or changed: an error, or a warning, that names the file; never another
exception, and never what was not saved."""

import random
import warnings

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf
from gyre._impl.checkpoints.state import update_checkpoint_state


def damaged(content: bytes):
    """The content cut at each place, and with bytes changed."""
    chosen = random.Random(20261123)
    for size in range(len(content)):
        yield content[:size]
    for at in range(len(content)):
        for byte in (0, 0x22, 0x28, 0x5C, chosen.randrange(256)):
            yield content[:at] + bytes([byte]) + content[at + 1 :]


def test_states(tmp_path):
    update_checkpoint_state(
        tmp_path, tmp_path / "m-2", [tmp_path / "m-1"], all_model_checkpoint_timestamps=[1.0, 2.0]
    )
    file = tmp_path / "checkpoint"
    for content in [
        *damaged(file.read_bytes()),
        b"model_checkpoint_path: " + b"(" * 10_000,
        b"model_checkpoint_path: " + b"-" * 100_000 + b"1",
    ]:
        file.write_bytes(content)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            state = tf.train.get_checkpoint_state(tmp_path)
        said = [str(file) in str(w.message) for w in caught if w.category is UserWarning]
        assert said == ([True] if state is None else []), content
        assert state is None or state.model_checkpoint_path


@pytest.mark.parametrize("extra", [None, b"[" * 100_000])
def test_safetensors(tmp_path, extra):
    v = gyre.Variable([1.0, 2.0, 3.0])
    file = tmp_path / "x.safetensors"
    gyre.save_variables(file, {"v": v})
    good = file.read_bytes()
    for content in damaged(good) if extra is None else [len(extra).to_bytes(8, "little") + extra]:
        file.write_bytes(content)
        v.assign([7.0, 8.0, 9.0])
        try:
            gyre.restore_variables(file, {"v": v})
        except (
            gyre.errors.DataLossError,
            gyre.errors.NotFoundError,
            gyre.errors.InvalidArgumentError,
        ) as error:
            assert str(file) in str(error) or "'v'" in str(error) or "v:" in str(error), error
            np.testing.assert_array_equal(v.numpy(), [7, 8, 9])


def test_checkpoints_of_savers(tmp_path):
    prefix = tmp_path / "m"

    def save():
        gyre.raw_ops.SaveV2(
            prefix=str(prefix),
            tensor_names=["v"],
            shape_and_slices=[""],
            tensors=[gyre.constant([1.0, 2.0])],
        )

    def load():
        return (
            gyre.raw_ops.RestoreV2(
                prefix=str(prefix), tensor_names=["v"], shape_and_slices=[""], dtypes=["float32"]
            )[0]
            .numpy()
            .tolist()
        )

    save()
    (data,) = tmp_path.glob("m.data-*")
    for file in (data, tmp_path / "m.index"):
        good = file.read_bytes()
        for content in damaged(good):
            file.write_bytes(content)
            try:
                assert load() == [1, 2]
            except (
                gyre.errors.InvalidArgumentError,
                gyre.errors.NotFoundError,
                gyre.errors.UnimplementedError,
            ) as error:
                assert str(prefix) in str(error)
                if file == data:
                    assert data.name in str(error)
        file.write_bytes(good)
    assert load() == [1, 2]
