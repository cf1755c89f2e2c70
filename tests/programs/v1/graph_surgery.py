"""A graph written out, cut and brought in again twice, with inputs replaced."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def build():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        scale = tf.constant(3.0, name="scale")
        y = tf.add(x * scale, 1.0, name="y")
        tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, v * y), [0, x], name="powers")
        tf.square(y, name="unused")
        tf.identity(tf.get_default_graph().get_tensor_by_name("y:0"), name="out")
    return graph


def main():
    graph = build()
    definition = graph.as_graph_def()
    part = tf.graph_util.extract_sub_graph(definition, ["out"])
    copy = tf.GraphDef.FromString(part.SerializeToString())
    out = {
        "part": sorted(node.name for node in copy.node if node.op != "Const"),
        "ops": [node.op for node in copy.node if node.name in ("x", "y", "out")],
    }
    with tf.Graph().as_default() as target:
        five = tf.constant(5.0)
        (value,) = tf.import_graph_def(
            part, input_map={"x": five}, return_elements=["out:0"], name="a"
        )
        scaled, op = tf.import_graph_def(
            part,
            input_map={"x:0": value, "scale": tf.constant(10.0)},
            return_elements=["out:0", "y"],
        )
        tf.import_graph_def(definition, name="")
        with tf.Session() as sess:
            out["values"] = sess.run([value, scaled])
            out["plain"] = sess.run("out:0", {"x:0": 2.0})
        out["names"] = [value.name, scaled.name, op.name, op.type]
        out["found"] = target.get_operation_by_name("a/y").type
        try:
            tf.import_graph_def(part, input_map={"nothing": five})
        except ValueError as error:
            out["error"] = type(error).__name__
    scale = [node for node in part.node if node.name == "scale"][0]
    out["scale"] = list(scale.attr["value"].tensor.float_val) or [3.0]
    out["dtype"] = scale.attr["dtype"].type == tf.float32.as_datatype_enum
    return out
