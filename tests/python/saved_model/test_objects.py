"""Objects of loaded models: attributes and methods, as TensorFlow's own loader gives them."""

import contextlib
import gc
import json
import os
import pathlib
import shutil
import threading

import numpy as np
import pytest

import gyre
from gyre._impl.saved_model.objects import Objects
from saved_model import object_calls

FOLDER = pathlib.Path(__file__).parent / "objects"
GOLDEN = pathlib.Path(__file__).parents[2] / "saved_models"
RESULTS = json.loads((FOLDER / "results.json").read_text())


@pytest.fixture(scope="module")
def model():
    return gyre.saved_model.load(FOLDER / "model")


def agree(got, want):
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            agree(got[key], want[key])
    elif isinstance(want, list):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            agree(one, other)
    elif isinstance(want, float):
        assert abs(got - want) <= 1e-5 * max(1.0, abs(want))
    else:
        assert got == want


@pytest.mark.parametrize("name, call", object_calls.CALLS, ids=[n for n, _ in object_calls.CALLS])
def test_calls_give_what_tensorflow_gives(model, name, call):
    agree(object_calls.plain(gyre, call(gyre, model)), RESULTS[name])


def test_every_result_is_asked_for():
    assert RESULTS.keys() == {name for name, _ in object_calls.CALLS}


def test_what_does_not_fit_is_told_with_what_would(model):
    with pytest.raises(ValueError, match="(?s)Could not find matching concrete function") as caught:
        model.layers[0](gyre.constant([1]))
    assert "int32(1,), False, 1.0" in str(caught.value)
    assert "float32(None, 2), False, 1.0" in str(caught.value)
    with pytest.raises(ValueError, match="Could not find matching"):
        model.layers[1](gyre.ones([1, 2]), training=True)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        model.layers[0]()
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        model.forward(gyre.ones([1, 2]), y=3)
    with pytest.raises(TypeError, match="cannot be called; signatures can: serving_default"):
        model(3)
    with pytest.raises(AttributeError, match="the object that was saved has both, by_name"):
        _ = model.nothing
    assert not hasattr(model, "nothing") and hasattr(model, "layers")


def test_functions_say_what_they_take(model):
    assert model.forward.get_concrete_function().structured_outputs["out"].shape.as_list() == [
        None,
        2,
    ]
    args, kwargs = model.concrete.structured_input_signature
    assert args[0].shape.as_list() == [None, 2] and kwargs == {}
    grow = model.grow.get_concrete_function(gyre.TensorSpec([]), gyre.TensorSpec([1, 2]))
    assert grow.structured_input_signature[0][1].shape.as_list() == [1, 2]
    assert {v.name for v in model.forward.trainable_variables} >= {"same:0"}


def test_methods_and_signatures_share_variables(model):
    signature = model.signatures["serving_default"]
    assert signature(words=["y"])
    weight = model.layers[0].w
    assert any(weight is variable for variable in model.variables)
    kept = weight.numpy()
    before = model.forward(gyre.ones([1, 2]))["out"].numpy()
    weight.assign(kept + 1.0)
    assert not np.array_equal(model.forward(gyre.ones([1, 2]))["out"].numpy(), before)
    weight.assign(kept)


def test_methods_train(model):
    twin = gyre.saved_model.load(FOLDER / "model")
    optimizer = gyre.optimizers.SGD(0.01)
    variables = [layer.w for layer in twin.layers]

    @gyre.function
    def step(x):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_mean(gyre.square(twin.forward(x)["out"]))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    losses = [float(step(gyre.ones([4, 2]))) for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]
    assert not np.array_equal(twin.layers[0].w.numpy(), model.layers[0].w.numpy())


def test_objects_outlive_the_files(tmp_path):
    shutil.copytree(FOLDER / "model", tmp_path / "model")
    loaded = gyre.saved_model.load(tmp_path / "model")
    shutil.rmtree(tmp_path / "model")
    assert loaded.layers[0](gyre.ones([1, 2])).shape == [1, 2]


def test_a_function_keeps_its_model():
    call = gyre.saved_model.load(FOLDER / "model").layers[0]
    gc.collect()
    assert call(gyre.ones([1, 2])).shape == [1, 2]


def test_threads_make_one_object():
    loaded = gyre.saved_model.load(FOLDER / "model")
    found = []
    threads = [threading.Thread(target=lambda: found.append(loaded.layers)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(layer) for layers in found for layer in layers}) == 2


def test_a_loaded_model_is_saved_again_with_its_objects(tmp_path):
    loaded = gyre.saved_model.load(FOLDER / "model")
    loaded.layers[0].b.assign([7.0, 8.0])
    gyre.saved_model.save(loaded, tmp_path / "again")
    again = gyre.saved_model.load(tmp_path / "again")
    np.testing.assert_array_equal(again.layers[0].b.numpy(), [7.0, 8.0])
    x = gyre.ones([1, 2])
    np.testing.assert_array_equal(
        again.layers[0](x, training=True).numpy(), loaded.layers[0](x, training=True).numpy()
    )


def test_functions_of_golden_models_do_what_signatures_do():
    lookup = gyre.saved_model.load(GOLDEN / "nested_lookup/model")
    at = gyre.constant([0, 1])
    end = lookup.signatures["walk"](start=at, times=gyre.constant(2))["end"]
    assert lookup.hop(at, gyre.constant(2)).numpy().tolist() == end.numpy().tolist()
    keras = gyre.saved_model.load(GOLDEN / "keras_lstm/model")
    x = gyre.random.uniform([2, 3, 3], seed=3)
    (signed,) = keras.signatures["serving_default"](x).values()
    np.testing.assert_array_equal(keras.serve(x).numpy(), signed.numpy())


def test_models_without_objects_say_so():
    loaded = gyre.saved_model.load(GOLDEN / "v1_simple_ref/model")
    with pytest.raises(AttributeError, match="the object that was saved has no attributes"):
        _ = loaded.weight
    with pytest.raises(TypeError, match="cannot be called"):
        loaded(1)


def _use_all(loaded):
    """Looks at every object, and calls what can be called."""
    seen, open_ = set(), [getattr(loaded, name) for name in dir(loaded) if not name.startswith("_")]
    while open_:
        value = open_.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            open_.extend(value.values())
        elif isinstance(value, (list, tuple)):
            open_.extend(value)
        elif hasattr(value, "resource_handle"):
            _ = value.resource_handle
        elif hasattr(value, "concrete_functions"):
            for trace in value.concrete_functions:
                repr(trace)
                args, kwargs = gyre.nest.map_structure(
                    lambda leaf: (
                        gyre.zeros([d or 1 for d in leaf.shape], leaf.dtype)
                        if isinstance(leaf, gyre.TensorSpec)
                        else leaf
                    ),
                    trace.structured_input_signature,
                    expand_composites=True,
                )
                with contextlib.suppress(gyre.errors.InvalidArgumentError):  # zeros are no indices
                    trace(*args, **kwargs)
        elif type(value).__module__.endswith("saved_model.objects"):
            open_.extend(vars(value).values())


def _damaged(loaded, data: bytes):
    """The model, as if these were its objects."""
    loaded._objects = Objects(loaded, data, loaded._keys, loaded._values)
    return loaded


def test_damaged_objects_end_in_errors():
    loaded = gyre.saved_model.load(FOLDER / "model")
    whole = loaded._model.object_graph()
    _use_all(_damaged(loaded, whole))
    random = np.random.default_rng(int(os.environ.get("GYRE_TEST_SEED", "1")))
    outcomes = set()
    for _ in range(100):
        data = bytearray(whole)
        for place in random.integers(0, len(whole), random.integers(1, 4)):
            data[place] = random.integers(256)
        try:
            _use_all(_damaged(loaded, bytes(data)))
        except Exception as error:
            outcomes.add(type(error).__name__)
    assert outcomes and not outcomes & {"InternalError", "SystemError", "MemoryError"}, outcomes


def test_files_of_the_model_are_attributes():
    note = gyre.saved_model.load(GOLDEN / "asset_text/model").note
    assert pathlib.Path(note.asset_path.numpy().decode()).is_file()
