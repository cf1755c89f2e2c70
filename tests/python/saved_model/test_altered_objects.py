"""Objects of models that other programs may have written, or damaged: they are whole, or an error
says what is wrong, however often they are looked at."""

import copy
import gc
import pathlib
import pickle
import threading

import numpy as np
import pytest

import gyre
from gyre._impl.proto import messages
from gyre._impl.saved_model.objects import Objects, Values
from saved_model.altered import (
    MODEL,
    OBJECTS,
    add,
    altered,
    checkpoint,
    function_of,
    loaded,
    with_another_variable,
)

GOLDEN = pathlib.Path(__file__).parents[2] / "saved_models"
ROW = gyre.constant([[1.0, 2.0]])
DAMAGED = "the model's objects are damaged: "


def _refused(what: str):
    return pytest.raises(gyre.errors.InvalidArgumentError, match=DAMAGED + what)


# ---- Calls of traces


def _without_names(objects, _):
    for trace in objects.concrete_functions.values():
        for value in trace.canonicalized_input_signature.tuple_value.values[0].tuple_value.values:
            if value.WhichOneof("kind") == "tensor_spec_value":
                value.tensor_spec_value.name = ""


def test_tensors_without_names_go_by_their_places(tmp_path):
    model = loaded(tmp_path / "a", _without_names)
    ragged = gyre.ragged.constant([[4.0], [3.0, 1.0]])
    (trace,) = model.ragged.concrete_functions
    sums, _ = trace(ragged.values, ragged.row_splits)
    assert sums.numpy().tolist() == [4.0, 4.0]
    sparse = gyre.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]])
    dense, _ = model.sparse.concrete_functions[0](sparse.indices, sparse.values, sparse.dense_shape)
    assert dense.numpy().tolist() == [[0.0, 1.0], [2.0, 0.0]]
    shrink = model.grow.concrete_functions[0]
    assert shrink(50.0, [1.0, 1.0])[0].shape == [2]
    with pytest.raises(TypeError, match=r"or a tensor for each tensor: \(no name of its own\), "):
        shrink(50.0)


@pytest.mark.parametrize("words", [["a"], ["a", "a"], ["a", "b", "c"], ["b", "a"], ["self", "a"]])
def test_keywords_are_names_of_one_tensor_each(tmp_path, words):
    def name(objects, _):
        bare = add(objects, "named", "bare_concrete_function").bare_concrete_function
        bare.concrete_function_name = function_of(objects, "grow")
        bare.argument_keywords.extend(words)

    named = loaded(tmp_path / "a", name).named
    limit, x = gyre.constant(50.0), gyre.constant([1.0, 1.0])
    want = named(limit, x)[0].numpy().tolist()
    if len(set(words)) == len(words) == 2:
        assert named(**dict(zip(words, (limit, x), strict=True)))[0].numpy().tolist() == want
        assert named(limit, **{words[1]: x})[0].numpy().tolist() == want
    else:
        with pytest.raises(TypeError, match="takes .*, or a tensor for each tensor: "):
            named(**dict(zip(words, (limit, x), strict=False)))
    for args, kwargs in [((limit,), {}), ((limit, x, x), {}), ((limit, x), {words[0]: x})]:
        with pytest.raises(TypeError, match="takes .*, or a tensor for each tensor: "):
            named(*args, **kwargs)


def test_traces_take_what_they_were_traced_for():
    trace = gyre.saved_model.load(MODEL).grow.concrete_functions[0]
    limit = gyre.constant(50.0)
    with pytest.raises(ValueError, match=r"'x' of .* takes float32\(2,\), not float32\(1, 2\)"):
        trace(limit, gyre.ones([1, 2]))
    with pytest.raises(ValueError, match=r"'x' of .* takes float32\(2,\), not int32\(2,\)"):
        trace(limit, gyre.constant([1, 2]))
    with pytest.raises(ValueError, match=r"'limit' of .* takes float32\(\), not float32\(2,\)"):
        trace(x=gyre.ones([2]), limit=gyre.Variable([1.0, 2.0]))
    with pytest.raises((TypeError, ValueError), match="argument 'x' of function '.*grow"):
        trace(limit, "text")


def test_parameters_may_be_called_self(tmp_path):
    made = gyre.Module()
    made.twice = gyre.function(lambda self, x: self * x)
    made.twice(gyre.constant(2.0), gyre.constant(3.0))
    gyre.saved_model.save(made, tmp_path)
    twice = gyre.saved_model.load(tmp_path).twice
    assert float(twice(self=2.0, x=4.0)) == 8.0
    specs = {"self": gyre.TensorSpec([]), "x": gyre.TensorSpec([])}
    assert float(twice.get_concrete_function(**specs)(self=2.0, x=5.0)) == 10.0


def test_parts_of_a_model_are_not_copied():
    model = gyre.saved_model.load(MODEL)
    layer = model.layers[0]
    for part in (model, layer, model.layers, model.forward, model.concrete, model.vocabulary):
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="is neither copied nor pickled"):
                copied(part)


# ---- Objects are whole, or not there


def _with_a_bad_function(objects, _):
    first = len(objects.nodes)
    add(objects, "bad", a=first + 1, good=4)
    add(objects, None, "function").function.concrete_functions.append("nothing")


def test_what_has_failed_fails_again(tmp_path):
    model = loaded(tmp_path / "a", _with_a_bad_function)
    for _ in range(3):
        with _refused("there is no function 'nothing'"):
            _ = model.bad
    assert float(model.steps) == 1.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RecursionError, gyre.errors.NotFoundError])
def test_what_was_interrupted_is_made_later(monkeypatch, error):
    begun, left = Objects._begun, [0]

    def interrupted(self, number):
        left[0] -= 1
        if left[0] == 0:
            raise error(None, None, "") if issubclass(error, gyre.errors.OpError) else error()
        return begun(self, number)

    monkeypatch.setattr(Objects, "_begun", interrupted)
    for times in range(1, 9):
        model = gyre.saved_model.load(MODEL)
        left[0] = times
        with pytest.raises(error):
            _ = model.layers, model.both
        left[0] = 0
        first, second = model.layers
        assert model.both[1] is first and vars(first).keys() == vars(second).keys()
        assert first(ROW).shape == [1, 2]


@pytest.mark.parametrize("kind, name", [("list", "0"), ("dict", "k")])
def test_lists_and_dicts_may_lead_back_to_themselves(tmp_path, kind, name):
    def change(objects, _):
        first = len(objects.nodes)
        add(objects, "held", f"trackable_{kind}_wrapper", **{name: first + 1, name + "1": first})
        add(objects, None, holder=first, pair=first + 2)
        add(objects, None, "trackable_tuple_wrapper", **{"0": first, "1": first + 1})

    def items(held):
        return list(held.values()) if kind == "dict" else held

    held = loaded(tmp_path / "a", change).held
    one, itself = items(held)
    assert itself is held and one.holder is held and one.pair[0] is held and one.pair[1] is one
    again = gyre.saved_model.load(tmp_path / "a")
    assert items(again.held)[0].pair[0] is again.held


def test_tuples_hold_no_tuples_that_hold_them(tmp_path):
    def change(objects, _):
        first = len(objects.nodes)
        add(objects, "pair", "trackable_tuple_wrapper", **{"0": 4, "1": first + 1})
        add(objects, None, "trackable_tuple_wrapper", **{"0": first})

    model = loaded(tmp_path / "a", change)
    for _ in range(2):
        with _refused("a tuple holds itself"):
            _ = model.pair


@pytest.mark.parametrize(
    "kind, name",
    [
        ("_generic_user_object", "next"),
        ("_generic_user_object", "__call__"),
        ("trackable_list_wrapper", "0"),
        ("trackable_tuple_wrapper", "0"),
        ("trackable_dict_wrapper", "next"),
    ],
)
def test_objects_may_lie_deep(tmp_path, kind, name):
    deep = 20_000

    def change(objects, _):
        last = next(c.node_id for c in objects.nodes[0].children if c.local_name == "count")
        add(objects, "top")
        objects.nodes[-1].children.add(local_name="held", node_id=len(objects.nodes))
        objects.nodes[-1].children.add(local_name="v", node_id=4)
        for place in reversed(range(deep)):
            add(objects, None, kind, **{name: len(objects.nodes) + 1 if place else last})

    model = loaded(tmp_path / "a", change)
    top = model.top
    assert top.variables == (model.steps,) or top.variables[0] is model.steps
    assert len(top.submodules) == (deep if "user" in kind else 0)
    value = top.held
    if name == "__call__":
        before = int(model.steps)
        value()
        assert int(model.steps) == before + 1
    for _ in range(deep):
        value = vars(value)[name] if "user" in kind else value[0 if name == "0" else name]
    assert value is model.count
    del model, top, value
    gc.collect()


def test_what_is_its_own_call_is_an_error(tmp_path):
    def change(objects, _):
        first = len(objects.nodes)
        add(objects, "one", **{"__call__": first + 1})
        add(objects, None, **{"__call__": first})
        add(objects, "number", **{"__call__": 4})
        objects.nodes[0].children.add(local_name="__call__", node_id=0)

    model = loaded(tmp_path / "a", change)
    with _refused("an object is its own __call__"):
        model.one(ROW)
    with _refused("an object is its own __call__"):
        model(ROW)
    with _refused("a Variable is a __call__"):
        model.number(ROW)


def test_numbers_of_no_object_are_told():
    model = gyre.saved_model.load(MODEL)
    graph = messages.SavedObjectGraph.FromString(model._model.object_graph())
    for name, number in (("below", -1), ("above", 10**6)):
        add(graph, name, a=number)
    graph.concrete_functions[function_of(graph, "count")].bound_inputs[0] = -3
    add(graph, "places", "trackable_list_wrapper", **{"²": 4})
    model._objects = Objects(model, graph.SerializeToString(), model._keys, model._values)
    for name, told in (("below", "-1"), ("above", "1000000")):
        with _refused(f"there is no object {told}"):
            getattr(model, name)
    with _refused("there is no object -3"):
        model.count()
    with _refused("there is no object -3"):
        _ = model.count.variables
    with _refused("object .*invalid literal"):
        _ = model.places
    model._objects = Objects(model, b"", model._keys, model._values)
    with _refused("there is no object 0"):
        _ = model.nothing
    with _refused("not a SavedObjectGraph"):
        Objects(model, b"no message", model._keys, model._values)


def test_names_of_python_and_of_modules_are_no_danger(tmp_path):
    names = ["__dict__", "__class__", "__reduce_ex__", "__getattribute__", "_name", "_untracked"]

    def change(objects, _):
        first = len(objects.nodes)
        add(objects, "named", v=4, **dict.fromkeys(names, first + 1))
        add(objects, None, "trackable_dict_wrapper", k=4)
        for name in names:
            objects.nodes[0].children.add(local_name=name, node_id=first + 1)

    model = loaded(tmp_path / "a", change)
    named = model.named
    assert vars(named).keys() == {"v", "_name", "_untracked"}
    assert named.name == "loaded_object" and named.variables[0] is model.steps
    with named.name_scope:
        assert gyre.Variable(1.0, name="v").name == "loaded_object/v:0"
    assert set(names[:4]).isdisjoint(name for name, _ in model.items_of_object())
    gyre.saved_model.save(model, tmp_path / "b", signatures={})
    again = gyre.saved_model.load(tmp_path / "b").named
    assert float(again._untracked["k"]) == float(again.v) == float(model.steps)


# ---- Resources, files and values


def _own_table(objects, graph, captures=()):
    """A table that no signature uses, made by a function of its own."""
    first = len(objects.nodes)
    creator = next(
        node.function.concrete_functions[0]
        for node in objects.nodes
        if node.function.concrete_functions and "reat" in node.function.concrete_functions[0]
    )
    add(objects, "table", "resource", _create_resource=first + 1)
    add(objects, None, "function").function.concrete_functions.append(creator)
    objects.concrete_functions[creator].bound_inputs.extend(captures)
    for function in graph.graph_def.library.function:
        for node in function.node_def:
            if function.signature.name == creator and node.op == "HashTableV2":
                node.op = "AnonymousMutableHashTable"
                for attribute in ("shared_name", "container", "use_node_name_sharing"):
                    node.attr.pop(attribute, None)


def test_threads_share_one_resource(tmp_path):
    folder = altered(tmp_path / "a", _own_table)
    for _ in range(20):
        table, threads = gyre.saved_model.load(folder).table, 4
        start, handles = threading.Barrier(threads), []

        def look(table=table, start=start, handles=handles):
            start.wait()
            handles.append(table.resource_handle)

        running = [threading.Thread(target=look) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert {handle.id for handle in handles} == {table.resource_handle.id}


def test_a_resource_that_is_needed_to_make_it_is_an_error(tmp_path):
    def change(objects, graph):
        _own_table(objects, graph, captures=[len(objects.nodes)])

    table = loaded(tmp_path / "a", change).table
    for _ in range(2):
        with _refused("a resource is needed to make it"):
            _ = table.resource_handle


@pytest.mark.parametrize("creator, told", [("look_up", "object"), ("count", "object .* does not")])
def test_what_makes_no_resource_is_told(tmp_path, creator, told):
    def change(objects, _):
        first = len(objects.nodes)
        add(objects, "table", "resource", _create_resource=first + 1)
        made = add(objects, None, "function").function
        made.concrete_functions.append(function_of(objects, creator))

    with _refused(told):
        _ = loaded(tmp_path / "a", change).table.resource_handle


def test_what_is_seen_first_in_a_function_is_there_outside(tmp_path):
    text = gyre.saved_model.load(GOLDEN / "asset_text/model")
    inside = gyre.function(lambda: text.note.asset_path)()
    assert inside.numpy() == text.note.asset_path.numpy()
    assert int(gyre.function(lambda: gyre.strings.length(text.note.asset_path))()) > 0

    def change(objects, _):
        captured = objects.concrete_functions[function_of(objects, "grow")].bound_inputs[0]
        objects.nodes[0].children.add(local_name="number", node_id=captured)

    model = loaded(tmp_path / "a", change)
    seen = gyre.function(lambda: (model.by_name["a"], model.layers[0](ROW), model.number * 1.0))()
    assert float(seen[0]) == float(model.by_name["a"])
    np.testing.assert_array_equal(seen[2], model.number)
    np.testing.assert_array_equal(seen[1], model.layers[0](ROW))


def test_variables_that_only_objects_have_are_the_models(tmp_path):
    folder = with_another_variable(tmp_path / "a")
    model = gyre.saved_model.load(folder)
    names = [variable.name for variable in model.variables]
    assert "extra:0" in names and names == sorted(names)
    assert any(variable is model.extra for variable in model.trainable_variables)
    assert len(model.variables) == len(gyre.saved_model.load(MODEL).variables) + 1
    model, times = gyre.saved_model.load(folder), []

    @gyre.function
    def scaled(x):
        times.append(1)
        return x * model.extra if len(times) > 1 else x

    assert scaled(gyre.ones([2])).numpy().tolist() == [1.0, 1.0]
    assert scaled(gyre.ones([1, 2])).numpy().tolist() == [[42.5, 1.0]]
    model.extra.assign([2.0, 3.0])
    assert scaled(gyre.ones([1, 2])).numpy().tolist() == [[2.0, 3.0]]


def test_variables_that_only_objects_have_are_saved(tmp_path):
    model = gyre.saved_model.load(with_another_variable(tmp_path / "a"))
    model.layers[0].b.assign([5.0, 6.0])
    gyre.saved_model.save(model, tmp_path / "unchanged")
    again = gyre.saved_model.load(tmp_path / "unchanged")
    assert again.extra.numpy().tolist() == [42.5, 1.0]
    again.extra.assign([7.0, 8.0])
    gyre.saved_model.save(again, tmp_path / "changed")
    changed = gyre.saved_model.load(tmp_path / "changed")
    assert changed.extra.numpy().tolist() == [7.0, 8.0]
    assert changed.layers[0].b.numpy().tolist() == [5.0, 6.0]
    np.testing.assert_array_equal(changed.layers[0](ROW), model.layers[0](ROW))
    got, want = (one.signatures["serving_default"](words=["y"]) for one in (changed, model))
    assert got.keys() == want.keys()
    for name in got:
        np.testing.assert_array_equal(got[name], want[name])


@pytest.mark.parametrize("dtype, dims", [("int64", (2,)), ("float32", (5,)), ("float32", ())])
def test_values_are_what_the_objects_say(tmp_path, dtype, dims):
    folder = with_another_variable(tmp_path / "a", dtype, dims)
    with _refused(r"variable 'extra' is .*, and its value float32\(2,\)"):
        _ = gyre.saved_model.load(folder).extra


def test_values_outlive_the_files(tmp_path):
    model = gyre.saved_model.load(with_another_variable(tmp_path / "a"))
    checkpoint(tmp_path / "a", lambda values, _: values.update(extra=gyre.constant([0.0, 0.0])))
    assert model.extra.numpy().tolist() == [42.5, 1.0]


@pytest.mark.parametrize("value", [3 * 10**9, -5, [1.0, 2.0], True], ids=str)
def test_objects_of_a_checkpoint_are_a_text(tmp_path, value):
    def without_variables(objects, graph):
        for node in objects.nodes:
            if node.WhichOneof("kind") == "variable":
                node.user_object.identifier = "_generic_user_object"
        graph.ClearField("saver_def")

    folder = altered(tmp_path / "a", without_variables, GOLDEN / "nested_lookup/model")
    kind = gyre.int64 if isinstance(value, int) and not isinstance(value, bool) else None
    checkpoint(folder, lambda values, _: values.update({OBJECTS: gyre.constant(value, kind)}))
    with pytest.raises(gyre.errors.InvalidArgumentError, match=OBJECTS):
        dir(gyre.saved_model.load(folder))


def test_values_are_read_within_the_folder_alone(tmp_path):
    folder = with_another_variable(tmp_path / "a")
    data = folder / "variables/variables.data-00000-of-00001"
    data.rename(tmp_path / "outside")
    data.symlink_to(tmp_path / "outside")
    with pytest.raises(gyre.errors.PermissionDeniedError, match="leads out of the folder"):
        Values(str(folder / "variables/variables"), str(folder)).read("extra")
