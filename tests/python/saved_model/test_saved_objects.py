"""Objects that are saved: what loading gives again. tests/peers/saved_objects.py has TensorFlow's
own loader read the same models."""

import copy
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import gyre
from gyre._impl.proto import messages
from saved_model import object_calls, object_program
from saved_model.test_objects import agree

FOLDER = pathlib.Path(__file__).parent / "objects"
RESULTS = json.loads((FOLDER / "results.json").read_text())
X = gyre.constant([[1.0, 2.0]])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objects") / "model"
    gyre.saved_model.save(object_program.model(gyre), folder)
    return gyre.saved_model.load(folder)


@pytest.mark.parametrize("name, call", object_calls.CALLS, ids=[n for n, _ in object_calls.CALLS])
def test_calls_give_what_tensorflow_gives_for_its_own(model, name, call):
    agree(object_calls.plain(gyre, call(gyre, model)), RESULTS[name])


def _again(obj, folder, **options):
    """The object as it is when it was saved and loaded, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gyre.saved_model.save(obj, folder, **options)
        return gyre.saved_model.load(folder)


def _messages(folder):
    return messages.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0]


def test_attributes_are_there_and_shared(tmp_path):
    made = gyre.Module()
    made.a = gyre.Variable([1.0, 2.0], name="a")
    made.again, made.table = made.a, {"k": made.a, "n": 3, "deep": [gyre.Variable(5)]}
    made.kept, made.number, made.nothing = gyre.constant([7, 8]), 4, [1, "x", None]
    made.pair = (made.a, gyre.constant("text"))
    made.inner = gyre.Module()
    made.inner.outer = made
    made.inner._hidden = gyre.Variable(6.0)
    loaded = _again(made, tmp_path)
    assert loaded.a.numpy().tolist() == [1.0, 2.0]
    assert loaded.again is loaded.a and loaded.table["k"] is loaded.a and loaded.pair[0] is loaded.a
    assert loaded.table.keys() == {"k", "deep"} and int(loaded.table["deep"][0]) == 5
    assert loaded.kept.numpy().tolist() == [7, 8] and loaded.pair[1].numpy() == b"text"
    assert float(loaded.inner._hidden) == 6.0 and loaded.inner.outer.a is loaded.a
    assert not hasattr(loaded, "number") and not hasattr(loaded, "nothing")


def test_a_loaded_model_within_an_object_is_trained_and_saved_on(tmp_path):
    tuned = object_program.tuned(gyre, gyre.saved_model.load(FOLDER / "model"))
    tuned.step(X)
    first = _again(tuned, tmp_path / "first")
    assert float(first.step(X)) == float(tuned.step(X))
    second = _again(first, tmp_path / "second")
    np.testing.assert_array_equal(second.predict(X), tuned.predict(X))
    for name in ("a", "b"):
        assert float(second.base.by_name[name]) == float(tuned.base.by_name[name])
    assert len(second.base.layers[0].__call__.concrete_functions) == 4
    assert second.base.both[1].w is second.base.layers[0].w
    assert second.base.look_up(["x", "q"]).numpy().tolist() == [10, -1]


def test_files_and_tables_move_with_the_objects(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")
    gyre.saved_model.save(object_program.files(gyre, tmp_path / "words.txt"), tmp_path / "here")
    (tmp_path / "words.txt").unlink()
    (tmp_path / "here").rename(tmp_path / "there")
    loaded = gyre.saved_model.load(tmp_path / "there")
    assert loaded.text.asset_path.numpy() == str(tmp_path / "there/assets/words.txt").encode()
    assert loaded().numpy() == b"a\nb\n"
    assert loaded.find(gyre.constant(["b", "z"])).numpy().tolist() == [1, -1]


def test_variables_that_nothing_holds_are_saved_with_their_functions(tmp_path):
    scale = gyre.Variable(3.0, name="scale")
    made = gyre.Module()
    made.scaled = gyre.function(lambda x: x * scale)
    made.scaled(gyre.constant(2.0))
    loaded = _again(made, tmp_path)
    assert float(loaded.scaled(2.0)) == 6.0
    assert [v.numpy() for v in loaded.scaled.variables] == [3.0]
    loaded.scaled.variables[0].assign(4.0)
    assert float(loaded.scaled(2.0)) == 8.0


def test_a_function_that_only_others_called_has_a_trace(tmp_path):
    class Square(gyre.Module):
        @gyre.function
        def __call__(self, x, power=2):
            return x**power

    made = gyre.Module()
    made.inner = Square()
    made.outer = gyre.function(lambda x: made.inner(x) + made.inner(x, 3))
    made.outer(gyre.constant([2.0]))
    loaded = _again(made, tmp_path)
    assert loaded.inner(gyre.constant([3.0])).numpy().tolist() == [9.0]
    assert loaded.inner(gyre.constant([3.0]), 3).numpy().tolist() == [27.0]
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.inner(gyre.constant([3.0]), 4)


def test_results_without_names_are_no_signature_but_a_method(tmp_path):
    class Model(gyre.Module):
        @gyre.function(input_signature=[gyre.TensorSpec([])])
        def nested(self, x):
            return {"a": [x, x * 2.0]}

        @gyre.function(input_signature=[gyre.TensorSpec([])])
        def plain(self, x):
            return x + 1.0

    loaded = _again(Model(), tmp_path)
    assert list(loaded.signatures) == ["plain"]
    assert repr(loaded) == "<gyre.saved_model model with nested, plain; signatures: plain>"
    assert [float(v) for v in loaded.nested(3.0)["a"]] == [3.0, 6.0]


def test_what_no_file_can_hold_is_left_out_with_a_warning(tmp_path):
    class Kind:
        pass

    made = gyre.Module()
    made.good = gyre.function(lambda x: x + 1.0)
    made.python = gyre.function(lambda x: gyre.py_function(lambda v: v, [x], gyre.float32))
    made.of_object = gyre.function(lambda x, kind: x)
    queue = gyre.queue.FIFOQueue(3, [gyre.float32])
    made.of_queue = gyre.function(lambda x: queue.enqueue(x))
    one, kind = gyre.constant(1.0), Kind()
    concrete = made.python.get_concrete_function(one)
    made.good(one), made.python(one), made.of_object(one, kind), made.of_queue(one)
    made.concrete = concrete
    with pytest.warns(UserWarning) as told:
        gyre.saved_model.save(made, tmp_path)
    texts = " ".join(str(warning.message) for warning in told)
    assert "TensorFlow has no EagerPyFunc" in texts
    assert "a SavedModel cannot say the Kind at" in texts
    assert "which no file holds" in texts
    assert all(warning.filename == __file__ for warning in told)
    loaded = gyre.saved_model.load(tmp_path)
    assert float(loaded.good(2.0)) == 3.0 and not hasattr(loaded, "concrete")
    for name in ("python", "of_object", "of_queue"):
        with pytest.raises(ValueError, match="no arguments at all: it was never called"):
            getattr(loaded, name)(*[one, kind][: 2 if name == "of_object" else 1])


def test_a_function_that_cannot_be_traced_is_told_and_left_out(tmp_path):
    made = gyre.Module()
    made.v = gyre.Variable(1.0)

    def broken(x):
        raise RuntimeError("not today")

    made.broken = gyre.function(broken, input_signature=[gyre.TensorSpec([])])
    with pytest.warns(UserWarning, match="'broken' cannot be traced, to be saved: .*not today"):
        gyre.saved_model.save(made, tmp_path, signatures={})
    assert float(gyre.saved_model.load(tmp_path).v) == 1.0


def test_functions_that_differ_in_names_alone_are_written_once(tmp_path):
    made = gyre.Module()
    made.w = gyre.Variable(2.0)

    @gyre.function(input_signature=[gyre.TensorSpec([], name="x")])
    def looped(x):
        while x < 100.0:
            x = x * made.w
        return x

    made.looped = looped
    loaded = _again(made, tmp_path, signatures=looped)
    names = [f.signature.name for f in _messages(tmp_path).graph_def.library.function]
    assert sum(name.startswith("while_body") for name in names) == 1 and len(names) == 4
    assert float(loaded.looped(3.0)) == 192.0
    assert float(loaded.signatures["serving_default"](x=3.0)["output_0"]) == 192.0


def test_equal_functions_of_other_objects_stay_apart(tmp_path):
    class Scale(gyre.Module):
        def __init__(self, by):
            super().__init__()
            self.by = gyre.Variable(by)

        @gyre.function
        def __call__(self, x):
            return x * self.by

    made = gyre.Module()
    made.two, made.three = Scale(2.0), Scale(3.0)
    assert float(made.two(1.0) + made.three(1.0)) == 5.0
    loaded = _again(made, tmp_path)
    assert float(loaded.two(1.0)) == 2.0 and float(loaded.three(1.0)) == 3.0


def test_names_of_nodes_are_those_that_tensorflow_takes(tmp_path):
    made = gyre.Module()
    made._inner = gyre.function(lambda x: x + 1.0, name="__inner__")
    made._outer = gyre.function(lambda x: made._inner(x), name="_outer")
    made._outer(gyre.constant(1.0))
    assert float(_again(made, tmp_path)._outer(2.0)) == 3.0
    graph = _messages(tmp_path).graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    assert nodes and all(node.name[0] != "_" for node in nodes)
    assert all(not name.startswith("_gyre") for f in graph.library.function for name in f.attr)


def test_keys_are_the_ways_to_the_variables(tmp_path):
    made = gyre.Module()
    made.rows = [{"a/b.c": gyre.Variable(1.0)}]
    loaded = _again(made, tmp_path)
    key = "rows/0/a.Sb..c/.ATTRIBUTES/VARIABLE_VALUE"
    assert (key, []) in gyre.train.list_variables(tmp_path / "variables/variables")
    assert float(loaded.rows[0]["a/b.c"]) == 1.0


def test_arguments_of_all_kinds_are_told(tmp_path):
    made = gyre.Module()

    @gyre.function
    def told(x, *rest, flag=True, text="t", size=None, **more):
        return x if flag else x * 2.0

    made.told = told
    one = gyre.constant(1.0)
    told(one), told(one, one, flag=False, extra=one), told([one, (one,)][0], size=1.5)
    loaded = _again(made, tmp_path)
    assert float(loaded.told(one)) == 1.0
    assert float(loaded.told(one, one, flag=False, extra=one)) == 2.0
    assert float(loaded.told(one, size=1.5)) == 1.0
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.told(one, text="u")


def test_functions_of_a_loaded_model_are_signatures_of_another(tmp_path):
    loaded = gyre.saved_model.load(FOLDER / "model")
    gyre.saved_model.save(
        gyre.Module(), tmp_path / "a", signatures=loaded.look_up.get_concrete_function()
    )
    assert list(gyre.saved_model.load(tmp_path / "a").signatures) == ["serving_default"]
    gyre.saved_model.save(loaded, tmp_path / "b", signatures={"looked": loaded.look_up})
    told = gyre.saved_model.load(tmp_path / "b").signatures["looked"]
    assert told(words=["x", "q"])["output_0"].numpy().tolist() == [10, -1]
    with pytest.raises(ValueError, match="has not one trace: hand over its get_concrete_function"):
        gyre.saved_model.save(loaded, tmp_path / "c", signatures=loaded.grow)
    alone = _again(loaded.layers[0], tmp_path / "d")
    np.testing.assert_array_equal(alone(X), loaded.layers[0](X))


def test_attributes_hide_what_modules_have(tmp_path):
    made = gyre.Module()
    made.write, vars(made)["submodules"] = gyre.Variable(1.0), [gyre.Variable(2.0)]
    made.inner = gyre.Module()
    vars(made.inner)["name_scope"] = gyre.Variable(3.0)
    made.itself, made._hidden = made, gyre.constant(4.0)
    loaded = _again(made, tmp_path / "a")
    for one in (loaded, _again(loaded, tmp_path / "b")):
        assert float(one.write) == 1.0 and float(one.submodules[0]) == 2.0
        assert float(one.inner.name_scope) == 3.0 and float(one._hidden) == 4.0
        assert one.itself is one
    assert loaded.name == "loaded_model" and len(loaded.variables) == 3
    with pytest.raises(TypeError):
        copy.deepcopy(loaded)


def test_a_step_with_gradients_through_a_loop_needs_no_attribute_of_gyres(tmp_path):
    @gyre.function(input_signature=[gyre.TensorSpec([None]), gyre.TensorSpec([], gyre.int32)])
    def slope(x, n):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in gyre.range(n):
                y = gyre.sin(y)
        return tape.gradient(y, x)

    loaded = _again(gyre.Module(), tmp_path, signatures=slope)
    got = loaded.signatures["serving_default"](x=[0.5], n=2)["output_0"]
    np.testing.assert_array_equal(got, slope(gyre.constant([0.5]), 2))
    functions = _messages(tmp_path).graph_def.library.function
    assert not [key for f in functions for key in f.attr if key.startswith("_gyre")]


def test_functions_that_call_themselves_are_said(tmp_path):
    made = gyre.Module()

    @gyre.function
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    made.fib = fib
    fib(gyre.constant(5))
    signature = fib.get_concrete_function(gyre.TensorSpec([], gyre.int32, name="n"))
    with pytest.warns(UserWarning, match="call themselves .*fib.*: Gyre runs it, TensorFlow"):
        gyre.saved_model.save(gyre.Module(), tmp_path / "a", signatures=signature)
    loaded = gyre.saved_model.load(tmp_path / "a")
    assert int(loaded.signatures["serving_default"](n=10)["output_0"]) == 55
    with pytest.warns(
        UserWarning, match="a trace of 'fib' is not saved .* takes no function that calls"
    ):
        gyre.saved_model.save(made, tmp_path / "b")


def test_objects_are_saved_where_graphs_are_made_of_primitives(tmp_path):
    program = f"""
import gyre
gyre.compat.v1.disable_v2_behavior()
gyre.compat.v1.enable_eager_execution()
made = gyre.Module()
made.double = gyre.function(lambda x: gyre.cond(x > 0.0, lambda: x * 2.0, lambda: x))
made.double(gyre.constant(1.0))
gyre.saved_model.save(made, {str(tmp_path / "m")!r})
print(float(gyre.saved_model.load({str(tmp_path / "m")!r}).double(3.0)))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "6.0\n", run.stderr
