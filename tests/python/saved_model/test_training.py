"""Models that TensorFlow exported with a step of training: Gyre's own gradient of their loss leads
to the weights that TensorFlow's step, which the model brings, leads to."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import gyre

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "support"))

from golden_cases import array_of  # noqa: E402


def trained():
    """(folder, inputs of a step of training) of each case whose signature train takes a rate."""
    for path in sorted((TESTS / "saved_models").glob("*/case.json")):
        for step in json.loads(path.read_text())["steps"]:
            if step.get("signature") == "train" and "rate" in step["inputs"]:
                yield pytest.param(path.parent, step["inputs"], id=path.parent.name)
                break


@pytest.mark.parametrize("folder, given", list(trained()))
def test_own_gradients_lead_where_the_models_step_leads(folder, given):
    inputs = {
        name: gyre.constant(array_of(value, folder), value["dtype"])
        for name, value in given.items()
    }
    theirs, ours = (gyre.saved_model.load(folder / "model") for _ in range(2))
    loss = theirs.signatures["train"](**inputs)["loss"]
    before = [variable.numpy() for variable in ours.trainable_variables]
    with gyre.GradientTape() as tape:
        own_loss = ours.signatures["train"](**{**inputs, "rate": gyre.constant(0.0)})["loss"]
    gradients = tape.gradient(own_loss, ours.trainable_variables)
    np.testing.assert_allclose(own_loss.numpy(), loss.numpy(), rtol=1e-6)
    moved = 0
    for old, gradient, variable in zip(before, gradients, theirs.trainable_variables):
        step = inputs["rate"] * gyre.convert_to_tensor(0.0 if gradient is None else gradient)
        np.testing.assert_allclose(
            old - step.numpy(), variable.numpy(), rtol=1e-4, atol=5e-6, err_msg=variable.name
        )
        moved += not np.array_equal(old, variable.numpy())
    assert moved > len(before) / 2


def test_there_are_such_models():
    assert len(list(trained())) == 6
