"""The graphs of concrete functions, as programs look into them."""

import subprocess
import sys

import pytest

import gyre

factor = gyre.Variable(2.0)


@gyre.function
def grow(x):
    while x < 10.0:
        x = x * factor
    return x + 1.0


@pytest.fixture
def concrete():
    return grow.get_concrete_function(gyre.TensorSpec([], gyre.float32))


def test_operations(concrete):
    operations = concrete.graph.get_operations()
    assert [operation.type for operation in operations if operation.type != "Const"] == [
        "Placeholder",
        "VarHandleOp",
        "While",
        "AddV2",
    ]
    add = operations[-1]
    assert add.graph is concrete.graph and add.inputs[0].op.type == "While"
    assert add in add.inputs[0].consumers() and add.control_inputs == []
    assert concrete.graph.get_operation_by_name(add.name) == add
    assert concrete.graph.get_tensor_by_name(f"{add.name}:0").dtype == gyre.float32


def test_names_that_nothing_has(concrete):
    with pytest.raises(KeyError, match="nothing"):
        concrete.graph.get_operation_by_name("nothing")
    with pytest.raises(KeyError, match="has 1 outputs"):
        concrete.graph.get_tensor_by_name("x:1")
    with pytest.raises(ValueError, match="of the form"):
        concrete.graph.get_tensor_by_name("x")


def test_as_a_message(concrete):
    graph_def = concrete.graph.as_graph_def()
    assert {"Placeholder", "While"} <= {node.op for node in graph_def.node}
    names = {function.signature.name for function in graph_def.library.function}
    (loop,) = [node for node in graph_def.node if node.op == "While"]
    assert {loop.attr["cond"].func.name, loop.attr["body"].func.name} <= names
    shaped = concrete.graph.as_graph_def(add_shapes=True)
    assert all("_output_shapes" in node.attr for node in shaped.node)
    assert float(concrete(gyre.constant(3.0))) == 13  # none of which changed it


def test_protobuf_is_loaded_for_who_asks_for_messages():
    program = (
        "import sys, gyre\n"
        "f = gyre.function(lambda x: x + 1).get_concrete_function(gyre.constant(1))\n"
        "f(gyre.constant(2)), f.graph.text(), f.graph\n"
        "print('google.protobuf' in sys.modules)\n"
        "f.graph.as_graph_def()\n"
        "print('google.protobuf' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.split() == ["False", "True"], ran.stderr


def test_errors_name_lines_of_concrete_functions_that_others_call():
    def picked(x):
        return gyre.gather(gyre.range(3), x)  # the line

    concrete = gyre.function(picked).get_concrete_function(gyre.TensorSpec([], gyre.int32))
    line = picked.__code__.co_firstlineno + 1
    for calls in (
        lambda x: concrete(x),
        lambda x: gyre.cond(x > 0, lambda: concrete(x), lambda: x),
    ):
        with pytest.raises(gyre.errors.InvalidArgumentError, match=f"test_graphs.py:{line}\n"):
            gyre.function(calls)(gyre.constant(7))
