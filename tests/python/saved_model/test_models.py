"""Loaded models: in functions, under tapes, trained further; what is wrong with calls and files."""

import pathlib
import shutil

import numpy as np
import pytest

import gyre

FOLDER = pathlib.Path(__file__).parents[2] / "saved_models"


@pytest.fixture
def layers():
    return gyre.saved_model.load(FOLDER / "layers_three_signatures/model")


@pytest.fixture
def power(layers):
    return layers.signatures["power"]


INPUTS = {"x": gyre.constant([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]]), "times": gyre.constant(3)}


def test_variables_are_those_of_the_model(layers):
    assert len(layers.variables) == len(layers.trainable_variables) == 2
    assert all(isinstance(variable, gyre.Variable) for variable in layers.variables)


def test_what_is_not_loaded_is_refused_by_naming_what_is(layers):
    with pytest.raises(AttributeError) as caught:
        layers.power_of(gyre.ones([1, 3]))
    assert "no attribute 'power_of'" in str(caught.value)
    with pytest.raises(KeyError, match="no signature 'pow'; it has: .*'power'"):
        layers.signatures["pow"]
    assert ".signatures['power']" in str(caught.value) and ".variables (" in str(caught.value)
    assert layers.variables[0].name.partition(":")[0] in str(caught.value)
    assert not hasattr(layers, "_anything") and not hasattr(layers, "__len__")


def test_a_change_of_a_variable_is_seen_by_its_signatures(layers, power):
    before = power(**INPUTS)["h"].numpy()
    for variable in layers.variables:
        variable.assign(variable * 0.5)
    assert not np.array_equal(before, power(**INPUTS)["h"].numpy())
    for variable in layers.variables:
        variable.assign(variable * 2.0)
    np.testing.assert_array_equal(before, power(**INPUTS)["h"].numpy())


def test_a_loaded_model_is_trained_further(layers, power):
    optimizer = gyre.optimizers.SGD(0.05)
    losses = []
    for _ in range(10):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_mean(gyre.square(power(**INPUTS)["h"] - 0.25))
        gradients = tape.gradient(loss, layers.trainable_variables)
        optimizer.apply_gradients(
            [(g, v) for g, v in zip(gradients, layers.trainable_variables) if g is not None]
        )
        losses.append(float(loss))
    assert losses[-1] < 0.9 * losses[0]


def test_gradients_of_a_loaded_model_are_differences(layers, power):
    weight = max(layers.variables, key=lambda variable: variable.shape.rank)
    with gyre.GradientTape() as tape:
        y = gyre.reduce_sum(power(**INPUTS)["h"])
    slope = tape.gradient(y, weight).numpy()
    step = 1e-2
    for at in [(0, 0), (1, 2)]:
        ends = []
        for sign in (1, -1):
            changed = weight.numpy().copy()
            changed[at] += sign * step
            kept = weight.numpy().copy()
            weight.assign(changed)
            ends.append(float(gyre.reduce_sum(power(**INPUTS)["h"])))
            weight.assign(kept)
        assert abs((ends[0] - ends[1]) / (2 * step) - slope[at]) < 1e-2 * max(1, abs(slope[at]))


@pytest.mark.parametrize("within", [lambda fn: fn, gyre.function], ids=["tape", "function"])
def test_tapes_in_functions_watch_the_variables_of_a_model(layers, power, within):
    def slopes():
        with gyre.GradientTape() as tape:
            y = within(lambda: gyre.reduce_sum(power(**INPUTS)["h"]))()
        return tape.gradient(y, layers.trainable_variables, unconnected_gradients="zero")

    for eager, traced in zip(slopes(), gyre.function(slopes)()):
        np.testing.assert_allclose(traced.numpy(), eager.numpy(), rtol=1e-6)
    assert any(slope.numpy().any() for slope in slopes())


def test_signatures_are_parts_of_functions(power):
    @gyre.function
    def twice(x):
        return power(x=x, times=3)["h"] * 2.0

    np.testing.assert_allclose(
        twice(INPUTS["x"]).numpy(), 2 * power(**INPUTS)["h"].numpy(), rtol=1e-6
    )


def test_signatures_say_what_they_take_and_give(power):
    _, inputs = power.structured_input_signature
    assert inputs["x"].shape.as_list() == [None, 3] and inputs["times"].dtype == gyre.int32
    assert list(power.structured_outputs) == ["h"]
    assert "times" in repr(power)


def test_tags_choose_the_graph(tmp_path):
    shutil.copytree(FOLDER / "counter/model", tmp_path / "model")
    file = tmp_path / "model/saved_model.pb"
    serve = file.read_bytes()
    file.write_bytes(serve + serve.replace(b"\x22\x05serve", b"\x22\x05train"))
    with pytest.raises(gyre.errors.NotFoundError, match="choose one by its tags"):
        gyre.saved_model.load(tmp_path / "model")
    model = gyre.saved_model.load(tmp_path / "model", tags="train")
    shutil.rmtree(tmp_path / "model")  # it has all that it needs
    assert model.signatures["peek"]().keys() == model.signatures["peek"].structured_outputs.keys()


def test_models_of_version_1_run():
    model = gyre.saved_model.load(FOLDER / "v1_simple_ref/model")
    assert model.variables == ()
    signature = model.signatures["serving_default"]
    inputs = {"n": gyre.constant(2), "x": gyre.ones([1, 3])}
    assert signature(**inputs).keys() == signature.structured_outputs.keys()
    with pytest.raises(NotImplementedError, match="reference variables.*eagerly"):
        gyre.function(lambda inputs: signature(**inputs))(inputs)


def test_calls_that_do_not_fit(power):
    with pytest.raises(TypeError, match="signature 'power' has no input 'nonsense'; it has"):
        power(**INPUTS, nonsense=1)
    with pytest.raises(TypeError, match="signature 'power' needs its input 'x'"):
        power(times=2)
    with pytest.raises(TypeError, match="takes its inputs by name: times, x"):
        power(INPUTS["x"])
    with pytest.raises(TypeError, match="input 'x' of signature 'power': str is no float32"):
        power(x="one", times=2)
    with pytest.raises(ValueError, match="input 'x' of signature 'power' takes shape"):
        power(x=gyre.ones([2, 4]), times=2)


def test_what_is_no_model(tmp_path):
    with pytest.raises(gyre.errors.NotFoundError):
        gyre.saved_model.load(tmp_path)
    assert not gyre.saved_model.contains_saved_model(tmp_path)
    shutil.copytree(FOLDER / "counter/model", tmp_path / "model")
    assert gyre.saved_model.contains_saved_model(tmp_path / "model")
    index = tmp_path / "model/variables/variables.index"
    index.write_bytes(index.read_bytes()[:-20])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="variables.index"):
        gyre.saved_model.load(tmp_path / "model")
    with pytest.raises(gyre.errors.NotFoundError, match="serve"):
        gyre.saved_model.load(FOLDER / "counter/model", tags=["train"])


def test_tables_are_filled_and_each_models_own():
    """Those of two models that are called alike too."""
    models = [gyre.saved_model.load(FOLDER / "bert_encoder/model") for _ in range(2)]
    results = [
        gyre.function(model.signatures["serving_default"])(text=gyre.constant(["the cat sat"]))
        for model in models
    ]
    assert results[0]["ids"].numpy().tolist() == results[1]["ids"].numpy().tolist()
    assert (results[0]["ids"].numpy() > 1).all()  # no padding, nothing unknown
