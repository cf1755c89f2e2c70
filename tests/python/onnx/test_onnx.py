"""gyre.onnx.load: models of ONNX as functions of tensors, with variables that tapes watch."""

import pathlib

import numpy as np
import pytest

import gyre

CASES = pathlib.Path(__file__).parents[2] / "golden_onnx"


def load(case):
    return gyre.onnx.load(CASES / case / "model.onnx")


def test_a_model_says_what_it_takes_and_returns():
    model = load("test_Linear")
    assert list(model.inputs) == ["0"]
    assert model.inputs["0"].shape == (4, 10)
    assert list(model.outputs) == ["3"]
    assert [v.shape for v in model.variables] == [(8, 10), (8,)]


def test_a_model_runs_in_order_and_by_name():
    model = load("test_Linear")
    x = np.random.default_rng(1).normal(size=(4, 10)).astype(np.float32)
    weights, bias = (variable.numpy() for variable in model.variables)
    np.testing.assert_allclose(model(x)["3"].numpy(), x @ weights.T + bias, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model({"0": x})["3"].numpy(), model(x)["3"].numpy())


def test_tapes_see_the_variables_of_a_model():
    model = load("test_Linear")
    x = gyre.constant(np.ones((4, 10), np.float32))
    with gyre.GradientTape() as tape:
        loss = gyre.reduce_sum(model(x)["3"])
    weights, bias = tape.gradient(loss, model.trainable_variables)
    np.testing.assert_allclose(weights.numpy(), np.full((8, 10), 4.0))
    np.testing.assert_allclose(bias.numpy(), np.full(8, 4.0))


def test_a_model_may_be_called_in_functions():
    model = load("test_Linear")

    @gyre.function
    def twice(x):
        return model(x)["3"] * 2.0

    x = np.ones((4, 10), np.float32)
    np.testing.assert_allclose(twice(x).numpy(), 2 * model(x)["3"].numpy(), rtol=1e-6)


def test_mistakes_are_said_by_name():
    model = load("test_Linear")
    with pytest.raises(TypeError, match="the model misses required arguments: 0"):
        model()
    with pytest.raises(TypeError, match="unexpected argument 'x'; it takes 0"):
        model(x=1)
    with pytest.raises(TypeError, match="takes 1 tensors, but was given 2"):
        model(1, 2)
    with pytest.raises(ValueError, match="input '0' takes shape"):
        model(np.ones((4, 11), np.float32))
    with pytest.raises(gyre.errors.NotFoundError):
        gyre.onnx.load("there_is_none.onnx")
