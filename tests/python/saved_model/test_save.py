"""Saving models: what comes back, what is refused."""

import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import gyre
from gyre._impl.proto import messages

MODELS = Path(__file__).parents[2] / "saved_models"
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
        np.testing.assert_array_equal(
            call(x=X, times=times)["y"].numpy(), model(X, times)["y"].numpy()
        )
    assert int(call(x=X, times=1)["calls"]) == 4
    words = loaded.signatures["shout"](gyre.constant(["a", "b"]))
    assert words["output_0"].numpy().tolist() == [b"a!", b"b!"] and int(words["output_1"]) == 2


class Effects(gyre.Module):
    """Functions whose effects have an order that their data do not say."""

    def __init__(self):
        super().__init__()
        self.w = gyre.Variable(0.0, name="w")
        self.v = gyre.Variable(0.0, name="v")

    def write_and_read(self, n):
        self.w.assign_add(2.0 * n)
        return self.w.read_value()

    def last_write_wins(self, n):
        self.w.assign(2.0 * n)
        self.w.assign(1.0)
        return n * 1.0

    def through_another(self, n):
        self.w.assign(gyre.sin(n))
        self.v.assign(self.w * 2.0)
        return self.v.read_value()

    def between_reads(self, n):
        before = self.w * 1.0
        self.w.assign(n * 2.0)
        between = self.w * 1.0
        self.w.assign(between + 1.0)
        return before, between, self.w * 1.0

    def behind_a_loop(self, n):
        for _ in gyre.range(3):
            self.w.assign_add(2.0 * n)
        return self.w.read_value()


@pytest.mark.parametrize("name", [n for n in vars(Effects) if not n.startswith("_")])
def test_effects_keep_their_order(name, tmp_path):
    def results_of(value):
        return [float(v) for v in gyre.nest.flatten(value)]

    spec = [gyre.TensorSpec([], gyre.float32, name="n")]
    original, model = Effects(), Effects()
    wanted = results_of(getattr(original, name)(gyre.constant(5.0)))
    function = gyre.function(getattr(model, name), input_signature=spec)
    gyre.saved_model.save(model, tmp_path, signatures=function)
    for _ in range(2):  # as it was written, and as the loaded one is
        loaded = gyre.saved_model.load(tmp_path)
        found = loaded.signatures["serving_default"](n=gyre.constant(5.0))
        assert [float(found[f"output_{i}"]) for i in range(len(wanted))] == wanted
        state = {v.name[0]: float(v) for v in loaded.variables}
        assert state["w"] == float(original.w) and state.get("v", 0.0) == float(original.v)
        for variable in loaded.variables:
            variable.assign(0.0)
        gyre.saved_model.save(loaded, tmp_path)


def test_tapes_watch_the_variables_of_a_signature(saved):
    call = gyre.saved_model.load(saved[1]).signatures["serving_default"]

    def slope():
        with gyre.GradientTape() as tape:
            y = call(x=X, times=2)["y"]
        found = tape.gradient(y, [v for v in call.variables if v.trainable])
        return [gyre.convert_to_tensor(g) for g in found if g is not None]

    eager, traced = slope(), gyre.function(slope)()
    assert len(eager) == len(traced) == 1
    np.testing.assert_allclose(eager[0], traced[0], rtol=1e-6)


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


def test_names_beyond_ascii(tmp_path):
    @gyre.function(input_signature=[gyre.TensorSpec([], gyre.float32)] * 2)
    def scaled(größe, größa):
        return {"été": größe * 2, "étà": größa * 3}

    gyre.saved_model.save(
        gyre.Module(), tmp_path / "m", signatures={"größer": scaled, "_x y": scaled}
    )
    loaded = gyre.saved_model.load(tmp_path / "m").signatures
    for name in ("größer", "_x y"):
        result = loaded[name](größe=gyre.constant(1.0), größa=gyre.constant(2.0))
        assert {key: float(value) for key, value in result.items()} == {"été": 2, "étà": 6}
    model = messages.SavedModel.FromString((tmp_path / "m" / "saved_model.pb").read_bytes())
    names = [node.name for node in model.meta_graphs[0].graph_def.node]
    assert names and all(re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.\\/-]*", name) for name in names)


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


def test_products_that_are_added_up_are_written_as_tensorflow_has_them(tmp_path):
    weight = gyre.Variable([[0.5]])

    @gyre.function(input_signature=[gyre.TensorSpec([], gyre.int32)])
    def slope(n):
        with gyre.GradientTape() as tape:
            x = gyre.ones([1, 1])
            for _ in gyre.range(n):
                x = x @ weight
        return tape.gradient(x, weight)

    assert b"_MatMulAdd" in slope.get_concrete_function().graph.graph_def()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gyre.saved_model.save(gyre.Module(), tmp_path, signatures=slope)
    assert b"_MatMulAdd" not in (tmp_path / "saved_model.pb").read_bytes()
    got = gyre.saved_model.load(tmp_path).signatures["serving_default"]
    assert float(got(n=3)["output_0"]) == 3 * 0.25 and float(got(n=0)["output_0"]) == 0


def test_ops_of_gyres_own_are_said(tmp_path):
    @gyre.function(input_signature=[gyre.TensorSpec([None])])
    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            rows = gyre.TensorArray(
                gyre.float32, size=0, dynamic_size=True, clear_after_read=False
            ).unstack(x)
            y = 0.0
            for i in gyre.range(gyre.size(x)):
                y += rows.read(i) * rows.read(0)
        return tape.gradient(y, x)

    with pytest.warns(UserWarning, match="_TensorListAddAt.*Gyre runs it, TensorFlow does not"):
        gyre.saved_model.save(gyre.Module(), tmp_path, signatures=slope)
    got = gyre.saved_model.load(tmp_path).signatures["serving_default"](x=[2.0, 3.0])
    assert got["output_0"].numpy().tolist() == [7.0, 2.0]


# ---- Assets


class Reader(gyre.Module):
    def __init__(self, path):
        super().__init__()
        self.note = gyre.saved_model.Asset(path)
        self.other = gyre.Variable("no path", trainable=False)

    @gyre.function(input_signature=[])
    def __call__(self):
        return {
            "text": gyre.raw_ops.ReadFile(filename=self.note.asset_path),
            "path": self.note.asset_path,
            "other": self.other.read_value(),
        }


def test_assets_move_with_the_model(tmp_path):
    (tmp_path / "note.txt").write_bytes(b"first")
    gyre.saved_model.save(Reader(tmp_path / "note.txt"), tmp_path / "a")
    (tmp_path / "note.txt").unlink()
    (tmp_path / "a").rename(tmp_path / "b")
    model = gyre.saved_model.load(tmp_path / "b")
    read = model.signatures["serving_default"]
    assert read()["text"].numpy() == b"first" and read()["other"].numpy() == b"no path"
    assert read()["path"].numpy() == str(tmp_path / "b/assets/note.txt").encode()
    assert gyre.train.list_variables(tmp_path / "b/variables/variables") == [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", []),
        ("other/.ATTRIBUTES/VARIABLE_VALUE", []),
    ]
    gyre.saved_model.save(model, tmp_path / "c")  # as it was
    gyre.saved_model.save(gyre.Module(), tmp_path / "d", signatures=read)  # as a program
    shutil.rmtree(tmp_path / "b")
    for folder in ("c", "d"):
        again = gyre.saved_model.load(tmp_path / folder).signatures["serving_default"]()
        assert again["text"].numpy() == b"first"
        assert again["path"].numpy() == str(tmp_path / folder / "assets/note.txt").encode()


def test_assets_of_one_name_stay_two(tmp_path):
    class Two(gyre.Module):
        def __init__(self):
            super().__init__()
            self.files = [gyre.saved_model.Asset(tmp_path / name / "note.txt") for name in "xy"]

        @gyre.function(input_signature=[])
        def both(self):
            return [gyre.raw_ops.ReadFile(filename=file.asset_path) for file in self.files]

    for name in "xy":
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text(name)
    gyre.saved_model.save(Two(), tmp_path / "model")
    got = gyre.saved_model.load(tmp_path / "model").signatures["both"]()
    assert [got[f"output_{i}"].numpy() for i in range(2)] == [b"x", b"y"]


def test_an_asset_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        gyre.saved_model.save(Reader(tmp_path / "nothing.txt"), tmp_path / "model")
    assert not gyre.saved_model.contains_saved_model(tmp_path / "model")


def test_loaded_models_are_written_as_they_were(tmp_path):
    model = gyre.saved_model.load(MODELS / "train_step/model")
    for variable in model.trainable_variables:
        variable.assign(variable * 0.5)
    gyre.saved_model.save(model, tmp_path)
    again = gyre.saved_model.load(tmp_path)
    assert (tmp_path / "saved_model.pb").read_bytes() == (
        MODELS / "train_step/model/saved_model.pb"
    ).read_bytes()
    for a, b in zip(model.variables, again.variables):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_reference_variables_are_written_as_they_are_now(tmp_path):
    model = gyre.saved_model.load(MODELS / "v1_simple_ref/model")
    inputs = {"n": gyre.constant(2), "x": gyre.ones([1, 3])}
    signature = model.signatures["serving_default"]
    (counter,) = [
        name for name, spec in signature.structured_outputs.items() if spec.dtype == gyre.int64
    ]
    before = int(signature(**inputs)[counter])
    gyre.saved_model.save(model, tmp_path)
    again = gyre.saved_model.load(tmp_path).signatures["serving_default"]
    assert int(again(**inputs)[counter]) == before + 1


def test_options_are_accepted(tmp_path):
    policy = gyre.saved_model.experimental.VariablePolicy.SAVE_VARIABLE_DEVICES
    options = gyre.saved_model.SaveOptions(
        experimental_variable_policy=policy, save_debug_info=True
    )
    assert options.experimental_variable_policy is policy and options.function_aliases is None
    gyre.saved_model.save(Steps(), tmp_path, options=options)
    gyre.saved_model.load(
        tmp_path, options=gyre.saved_model.LoadOptions(experimental_io_device="/job:localhost")
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        gyre.saved_model.SaveOptions(nonsense=1)


def test_a_model_that_was_written_again_is_called_first_thing_in_a_process(tmp_path):
    program = (
        "import sys, gyre\n"
        "model = gyre.saved_model.load(sys.argv[1])\n"
        "gyre.saved_model.save(model, sys.argv[2])\n"
        "print(float(model.signatures['peek']()['total']))\n"
    )
    words = [sys.executable, "-c", program, str(MODELS / "counter/model"), str(tmp_path / "again")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10.0\n", "")
