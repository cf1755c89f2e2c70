"""Saving models: what comes back, what is refused."""

import numpy as np
import pytest

import gyre

X = gyre.constant([[1.0, 0.5], [-0.25, 2.0]])


class Steps(gyre.Module):
    """A loop with a branch, a constant from outside, and a counter."""

    def __init__(self):
        super().__init__()
        self.weight = gyre.Variable([[1.0, 2.0], [3.0, 4.0]], name="weight")
        self.calls = gyre.Variable(0, trainable=False, name="calls")
        self.scale = gyre.constant([0.5, 0.25])

    @gyre.function(input_signature=[gyre.TensorSpec([None, 2]), gyre.TensorSpec([], gyre.int32)])
    def __call__(self, x, times):
        self.calls.assign_add(1)
        for _ in gyre.range(times):
            x = gyre.tanh(x @ self.weight) * self.scale
            if gyre.reduce_sum(x) > 0:
                x = x * 2.0
        return {"y": x, "calls": self.calls.read_value()}

    @gyre.function(input_signature=[gyre.TensorSpec([None], gyre.string)])
    def shout(self, words):
        return gyre.strings.join([words, "!"]), gyre.size(words)


@pytest.fixture
def saved(tmp_path):
    model = Steps()
    gyre.saved_model.save(model, tmp_path / "model")
    return model, tmp_path / "model"


def test_functions_come_back_with_their_variables(saved):
    model, folder = saved
    loaded = gyre.saved_model.load(folder)
    assert set(loaded.signatures) == {"serving_default", "shout"}
    call = loaded.signatures["serving_default"]
    for times in (0, 1, 5):
        np.testing.assert_array_equal(call(x=X, times=times)["y"].numpy(), model(X, times)["y"].numpy())
    assert int(call(x=X, times=1)["calls"]) == 4
    words = loaded.signatures["shout"](gyre.constant(["a", "b"]))
    assert words["output_0"].numpy().tolist() == [b"a!", b"b!"] and int(words["output_1"]) == 2


def test_keys_are_the_names_in_the_object(saved):
    _, folder = saved
    index = (folder / "variables/variables.index").read_bytes()
    assert b"weight" in index and b"calls" in index


def test_a_loaded_model_is_saved_again_as_it_is_now(saved, tmp_path):
    _, folder = saved
    loaded = gyre.saved_model.load(folder)
    for variable in loaded.trainable_variables:
        variable.assign(variable * 0.5)
    want = loaded.signatures["serving_default"](x=X, times=2)
    gyre.saved_model.save(loaded, tmp_path / "again")
    again = gyre.saved_model.load(tmp_path / "again").signatures["serving_default"](x=X, times=2)
    np.testing.assert_array_equal(again["y"].numpy(), want["y"].numpy())
    assert int(again["calls"]) == int(want["calls"]) + 1


def test_saving_over_a_model_replaces_it(saved):
    model, folder = saved
    model.weight.assign(model.weight * 2.0)
    gyre.saved_model.save(model, folder)
    got = gyre.saved_model.load(folder).signatures["serving_default"](x=X, times=1)
    np.testing.assert_array_equal(got["y"].numpy(), model(X, 1)["y"].numpy())


def test_one_function_is_the_default_signature(tmp_path):
    square = gyre.function(lambda x: x * x).get_concrete_function(gyre.TensorSpec([None]))
    gyre.saved_model.save(gyre.Module(), tmp_path, signatures=square)
    got = gyre.saved_model.load(tmp_path).signatures["serving_default"](gyre.constant([2.0, 3.0]))
    assert got["output_0"].numpy().tolist() == [4.0, 9.0]


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nothing to be saved"):
        gyre.saved_model.save(gyre.Module(), tmp_path)
    with pytest.raises(ValueError, match="'f' has no input_signature"):
        def f(x):
            return x
        gyre.saved_model.save(gyre.Module(), tmp_path, signatures=gyre.function(f))
    with pytest.raises(TypeError, match="not a gyre.function"):
        gyre.saved_model.save(gyre.Module(), tmp_path, signatures=len)

    @gyre.function(input_signature=[gyre.TensorSpec([])])
    def python(x):
        return gyre.py_function(lambda v: v + 1.0, [x], gyre.float32)

    with pytest.raises(gyre.errors.InvalidArgumentError, match="calls a function of Python"):
        gyre.saved_model.save(gyre.Module(), tmp_path, signatures=python)
    assert not gyre.saved_model.contains_saved_model(tmp_path)


def test_ops_of_gyres_own_are_said(tmp_path):
    weight = gyre.Variable([[0.5]])

    @gyre.function(input_signature=[gyre.TensorSpec([], gyre.int32)])
    def slope(n):
        with gyre.GradientTape() as tape:
            x = gyre.ones([1, 1])
            for _ in gyre.range(n):
                x = x @ weight
        return tape.gradient(x, weight)

    with pytest.warns(UserWarning, match="_MatMulAdd.*Gyre runs it, TensorFlow does not"):
        gyre.saved_model.save(gyre.Module(), tmp_path, signatures=slope)
    got = gyre.saved_model.load(tmp_path).signatures["serving_default"](n=3)
    assert float(got["output_0"]) == 3 * 0.25
