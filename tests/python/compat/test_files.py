"""Graphs as messages: written, read, cut, imported; queues; functions that wrap graphs."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError

import gyre
import gyre.compat.v1 as tf

# ---- Messages


def test_messages():
    node = tf.NodeDef(name="n", op="Add", input=["a", "^b"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    node.attr["list"].list.i.extend([1, -2])
    node.attr["flag"].b = True
    node.attr["text"].s = b"\x00x"
    node.attr["f"].f = 0.5
    node.attr["shape"].shape.dim.add(size=-1)
    again = tf.NodeDef.FromString(node.SerializeToString())
    assert again == node and again.attr["list"].list.i == [1, -2] and again.attr["f"].f == 0.5
    assert again.attr["shape"].shape.dim[0].size == -1 and list(again.input) == ["a", "^b"]
    assert again.attr["flag"].WhichOneof("value") == "b" and not again.attr["T"].HasField("list")
    assert pickle.loads(pickle.dumps(node)) == node and copy.deepcopy(node) == node
    assert 'name: "n"' in str(node) and "input: " in str(node) and r'"\000x"' in str(node)
    again.ClearField("input")
    assert list(again.input) == [] and again != node
    again.CopyFrom(node)
    assert again == node and node.ByteSize() == len(node.SerializeToString())
    with pytest.raises(ValueError, match='no "nothing" field'):
        tf.NodeDef(nothing=1)
    with pytest.raises(AttributeError, match="nothing"):
        _ = node.nothing
    with pytest.raises(AttributeError, match="ssignment not allowed"):
        node.input = []
    with pytest.raises(TypeError):
        node.CopyFrom(tf.GraphDef())


def test_unset_messages_stay_unset():
    attr = tf.AttrValue()
    assert attr.list.i == [] and not attr.HasField("list") and attr.SerializeToString() == b""
    attr.list.SetInParent()
    assert attr.WhichOneof("value") == "list"
    attr.i = 3
    assert attr.WhichOneof("value") == "i" and attr.s == b""


def test_unknown_fields_are_kept():
    data = tf.NodeDef(name="n").SerializeToString() + b"\xf8\x07\x2a"
    node = tf.NodeDef.FromString(data)
    assert node.name == "n" and node.SerializeToString() == data


@pytest.mark.parametrize(
    "data", [b"\x0a", b"\x0a\x05ab", b"\xff" * 11, b"\x0b", b"\x0a\x03\x0a\xff\x01"]
)
def test_damaged_messages(data):
    with pytest.raises(DecodeError):
        tf.GraphDef.FromString(data)
    with pytest.raises(ValueError, match="not a GraphDef"):
        tf.import_graph_def(data)


def test_messages_are_those_of_protobuf():
    node = tf.NodeDef(name="é", op="Const", attr={"dtype": tf.AttrValue(type="DT_FLOAT")})
    assert 'op: "Const"' in text_format.MessageToString(node) and "type: DT_FLOAT" in str(node)
    again = text_format.Parse(
        'op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }', tf.NodeDef()
    )
    again.MergeFrom(tf.NodeDef(name="é"))
    assert (
        again == node and json_format.Parse(json_format.MessageToJson(node), tf.NodeDef()) == node
    )
    assert tf.NodeDef.DESCRIPTOR.fields_by_name["attr"].number == 5
    assert [field.name for field, _ in node.ListFields()] == ["name", "op", "attr"]
    dim = tf.TensorShapeProto(dim=[{"size": 3}]).dim[0]
    assert pickle.loads(pickle.dumps(dim)) == dim and copy.deepcopy([dim]) == [dim]
    assert pickle.loads(pickle.dumps(tf.TensorShapeProto.Dim)) is type(dim)
    with pytest.raises(ValueError, match="presence"):
        node.HasField("name")


def test_other_definitions_of_the_same_names_do_no_harm():
    program = """if True:
        from google.protobuf import descriptor_pb2, descriptor_pool
        other = descriptor_pb2.FileDescriptorProto(name="wire/graph.proto", package="gyre.wire")
        other.message_type.add(name="GraphDef").field.add(name="x", number=1, type=5, label=1)
        descriptor_pool.Default().AddSerializedFile(other.SerializeToString())
        import gyre.compat.v1 as tf
        assert len(tf.GraphDef(node=[tf.NodeDef(name="n")]).node) == 1
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_protobuf_is_loaded_for_messages_alone():
    program = """if True:
        import sys
        import gyre.compat.v1 as tf
        with tf.Graph().as_default():
            v = tf.get_variable("v", initializer=[1.0])
            x = tf.while_loop(lambda x: tf.reduce_sum(x) < 9, lambda x: x * v, [v + 1])
            tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x))
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
        assert "google.protobuf" not in sys.modules
        tf.GraphDef()
        assert "google.protobuf" in sys.modules
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tensors_as_messages():
    proto = tf.make_tensor_proto([[1, 2]], dtype=tf.int64)
    assert (
        proto.dtype == tf.int64.as_datatype_enum
        and proto.tensor_content == np.array([1, 2]).tobytes()
    )
    assert [d.size for d in proto.tensor_shape.dim] == [1, 2]
    assert tf.make_tensor_proto(["a", b"b"]).string_val == [b"a", b"b"]


# ---- Graphs in and out


def loop_graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.int32, [], name="x")
        end = tf.while_loop(
            lambda i: i < 10, lambda i: tf.cond(i > 3, lambda: i + 3, lambda: i + 1), [x], name="w"
        )
        tf.identity(end, name="out")
        tf.Variable(1.0, name="v")
    return graph


def test_both_forms_of_control_flow():
    graph = loop_graph()
    try:
        tf.enable_control_flow_v2()
        structured = graph.as_graph_def()
        tf.disable_control_flow_v2()
        assert not tf.control_flow_v2_enabled()
        primitive = graph.as_graph_def()
    finally:
        tf.enable_control_flow_v2()
    assert {"While", "StatelessWhile"} & {n.op for n in structured.node} and len(
        structured.library.function
    ) >= 2
    assert {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"} <= {
        n.op for n in primitive.node
    }
    for definition in (structured, primitive, primitive.SerializeToString()):
        with tf.Graph().as_default() as other:
            (out,) = tf.import_graph_def(definition, return_elements=["out:0"])
            assert out.name == "import/out:0"
            assert tf.Session().run(out, {"import/x:0": 0}) == 10
            assert other.get_operation_by_name("import/v").type == "VarHandleOp"


def test_import(graph):
    definition = loop_graph().as_graph_def()
    part = tf.graph_util.extract_sub_graph(definition, ["x", "out"])
    assert {n.name for n in part.node} >= {"x", "out"} and "v" not in {n.name for n in part.node}
    two = tf.constant(2)
    (mapped,) = tf.import_graph_def(part, {"x:0": two}, ["out:0"], name="m")
    assert tf.import_graph_def(part, name="") is None
    (operation,) = tf.import_graph_def(part, return_elements=["out"])
    assert operation.name == "import/out" and graph.get_tensor_by_name("x:0").dtype == tf.int32
    sess = tf.Session()
    assert sess.run(mapped) == 10 and sess.run("out:0", {"x:0": 4}) == 10
    with pytest.raises(ValueError, match=r"not found in graph_def: \[no\]"):
        tf.import_graph_def(part, {"no": two})
    with pytest.raises(ValueError, match="return_element 'no'"):
        tf.import_graph_def(part, return_elements=["no"])
    with pytest.raises(TypeError, match="must be a GraphDef"):
        tf.import_graph_def(3)
    with pytest.raises(ValueError):
        tf.import_graph_def(b"nonsense that is no graph")
    with pytest.raises(tf.errors.NotFoundError, match="NoSuchOp"):
        tf.import_graph_def(tf.GraphDef(node=[tf.NodeDef(name="a", op="NoSuchOp")]))
    with pytest.raises(TypeError, match="iterable of strings"):
        tf.extract_sub_graph(part, "out")
    with pytest.raises(AssertionError, match="not in graph"):
        tf.extract_sub_graph(part, ["no"])


def test_remove_training_nodes(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.identity(tf.identity(x, name="a"), name="b") + 1.0
    short = tf.graph_util.remove_training_nodes(graph.as_graph_def())
    assert {n.name: list(n.input) for n in short.node}["add"] == ["x", "add/y"]


def test_imported_graphs_can_be_trained_on(run):
    with tf.Graph().as_default() as other:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0], name="w")
        definition, name = (
            other.as_graph_def(),
            [o.name for o in other.get_operations() if o.type == "Identity"][1],
        )
    v = tf.Variable(2.0)
    (y,) = tf.import_graph_def(definition, {"x": v}, [name + ":0"])
    assert run([y, tf.gradients(y, v)[0]]) == [8.0, 12.0]


# ---- Queues


def test_queue(sess):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[2]], name="q")
    row = queue.dequeue()
    assert queue.name == "q" and row.shape.as_list() == [2] and queue.dtypes == [tf.float32]
    sess.run(queue.enqueue([[1.0, 2.0]]))
    sess.run(queue.enqueue(tf.constant([3.0, 4.0])))
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(queue.enqueue([[5.0, 6.0]]), options=tf.RunOptions(timeout_in_ms=30))
    assert sess.run(queue.size()) == 2
    assert sess.run(queue.dequeue_many(2)).tolist() == [[1, 2], [3, 4]]
    sess.run(queue.close())
    with pytest.raises(tf.errors.OutOfRangeError, match="closed"):
        sess.run(row)
    with pytest.raises(tf.errors.CancelledError):
        sess.run(queue.enqueue([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue([[1.0]])


def test_named_components(sess):
    queue = tf.queue.FIFOQueue(5, [tf.int32, tf.string], names=["a", "b"])
    sess.run(queue.enqueue_many({"a": [1, 2], "b": ["x", "y"]}))
    assert sess.run(queue.dequeue()) == {"a": 1, "b": b"x"}
    with pytest.raises(ValueError, match="do not match names"):
        queue.enqueue({"a": 1})
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        queue.enqueue([1, "x"])


def test_queues_of_one_name_are_one(sess):
    a, b = (tf.FIFOQueue(5, [tf.int32], [()], shared_name="shared") for _ in range(2))
    sess.run(a.enqueue([7]))
    assert sess.run(b.dequeue()) == 7


# ---- Functions that wrap graphs


def test_wrap_function():
    def build(x):
        with tf.variable_scope("w", reuse=tf.AUTO_REUSE):
            v = tf.get_variable("v", initializer=3.0)
        count = tf.get_variable("count", initializer=0)
        with tf.control_dependencies([count.assign_add(1)]):
            return {"y": tf.identity(x * v, name="y"), "n": count.read_value()}

    wrapped = tf.wrap_function(build, [tf.TensorSpec([None], tf.float32, "x")])
    first, second = wrapped([1.0, 2.0]), wrapped(gyre.constant([4.0]))
    assert first["y"].numpy().tolist() == [3, 6] and int(first["n"]) == 1 and int(second["n"]) == 2
    pruned = wrapped.prune("x:0", "y:0")
    assert pruned([5.0]).numpy().tolist() == [15] and len(wrapped.variables) == 2
    assert len(wrapped.outputs) == 2 and wrapped.graph.finalized is False
    with pytest.raises(TypeError, match="takes 1 tensors"):
        wrapped()


def test_functions_in_graphs(sess):
    @gyre.function
    def collatz(n):
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    x = tf.placeholder(tf.int32, [])
    assert sess.run(collatz(x), {x: 27}) == 111
