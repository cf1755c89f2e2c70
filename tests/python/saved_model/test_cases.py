"""Every case of tests/saved_models gives from Python what TensorFlow recorded."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf
from gyre import _gyre

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "support"))

from golden_cases import array_of, difference  # noqa: E402

FOLDER = TESTS / "saved_models"
CASES = sorted(path.parent for path in FOLDER.glob("*/case.json"))


def cases(*kinds):
    """(folder, case) of these kinds, as parameters."""
    read = [(folder, json.loads((folder / "case.json").read_text())) for folder in CASES]
    return [pytest.param(*pair, id=pair[0].name) for pair in read if pair[1]["kind"] in kinds]


@pytest.fixture(params=["dataflow", "reference"], autouse=True)
def engine(request):
    _gyre.set_options(engine=request.param)
    yield request.param
    _gyre.set_options()


@pytest.mark.parametrize("folder, case", cases("savedmodel-v1", "savedmodel-v2"))
def test_signatures(folder, case):
    model = gyre.saved_model.load(folder / "model")
    assert set(model.signatures) == set(case["signatures"])
    for step in case["steps"]:
        inputs = {
            name: gyre.constant(array_of(value, folder), value["dtype"])
            for name, value in step["inputs"].items()
        }
        outputs = model.signatures[step["signature"]](**inputs)
        assert set(outputs) == set(step["expect"])
        for name, want in step["expect"].items():
            assert difference(outputs[name].numpy(), array_of(want, folder), step) is None, name


@pytest.mark.parametrize("folder, case", cases("metagraph"))
def test_meta_graphs(folder, case):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(folder / "v1/model.meta")
        saver.restore(sess, folder / "v1/model")
        for step in case["steps"]:
            feeds = {name: array_of(value, folder) for name, value in step["feeds"].items()}
            targets = [graph.get_operation_by_name(name) for name in step["targets"]]
            values, _ = sess.run([step["fetches"], targets], feeds)
            for name, got in zip(step["fetches"], values):
                want = array_of(step["expect"][name], folder)
                assert difference(got, want, step) is None, name


@pytest.mark.parametrize("folder, case", cases("savedmodel-v1", "savedmodel-v2", "metagraph"))
def test_what_checkpoints_hold(folder, case):
    prefix = folder / ("v1/model" if case["kind"] == "metagraph" else "model/variables/variables")
    reader = gyre.train.load_checkpoint(prefix)
    names = set(reader.get_variable_to_shape_map()) - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
    assert names == set(case["variables"])
    for name, want in case["variables"].items():
        assert reader.get_variable_to_shape_map()[name] == want["shape"]
        assert reader.get_variable_to_dtype_map()[name].name == want["dtype"]
        values = np.asarray(reader.get_tensor(name))
        assert list(values.shape) == want["shape"]
        if want["dtype"] in ("float32", "float64", "int32", "int64"):
            wide = values.astype(np.float64)
            assert abs(wide.sum() - want["sum"]) <= 1e-12 * max(1, np.abs(wide).sum())


def test_what_differs_is_told():
    step = {"rtol": 0.1, "atol": 0.0}
    want = np.array([1.0, np.nan])
    assert difference(np.array([1.05, np.nan]), want, step) is None
    assert "instead of" in difference(np.array([1.2, np.nan]), want, step)
    assert difference(np.array([[1.0, np.nan]]), want, step) == "shape (1, 2) instead of (2,)"
    assert difference([b"a"], np.array([b"a"], object), step) is None
    assert difference(np.array([b"b"], object), np.array([b"a"], object), step) is not None
    assert difference(np.int32([10]), np.int32([11]), step) is not None


def test_all_kinds_of_cases_are_there():
    assert (
        len(cases("savedmodel-v1")) == 1
        and len(cases("savedmodel-v2")) == 16
        and len(cases("metagraph")) == 2
    )
