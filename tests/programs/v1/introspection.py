"""What a graph tells about itself: names, types, scopes, devices, collections, neighbours."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    out = {}
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("block") as scope:
            a = x + 1.0
            b = tf.matmul(a, tf.ones([2, 2]), name="product")
            with tf.name_scope("inner"):
                c = tf.reduce_sum(b, axis=1)
        with tf.name_scope("block"):
            d = a * 2.0
        with tf.name_scope(scope):
            e = tf.negative(d)
        with tf.device("/cpu:0"):
            f = tf.identity(e, name="placed")
        with tf.control_dependencies([c, d.op]):
            g = tf.no_op(name="barrier")
        with tf.colocate_with(f.op):
            h = tf.exp(f)
        tf.add_to_collection("mine", c)
        tf.add_to_collection("mine", h)
        out["names"] = [t.name for t in (x, a, b, c, d, e, f, h)] + [g.name]
        out["types"] = [t.op.type for t in (x, a, b, c, d, e, f, h)] + [g.type]
        out["inputs"] = [i.name for i in b.op.inputs]
        out["controls"] = sorted(o.name for o in g.control_inputs)
        out["consumers"] = sorted(o.name for o in a.consumers())
        out["device"] = f.device.endswith("CPU:0")
        out["colocated"] = h.op.colocation_groups()
        out["transpose"] = [b.op.get_attr("transpose_a"), b.op.get_attr("T") == tf.float32]
        out["collection"] = [t.name for t in tf.get_collection("mine")]
        out["scoped"] = [t.name for t in tf.get_collection("mine", scope="block/inner")]
        out["count"] = len([o for o in graph.get_operations() if o.type == "Const"])
        out["same"] = graph.get_tensor_by_name("block/add:0") == a and a.graph is graph
        out["unique"] = [
            graph.unique_name("x"),
            graph.unique_name("fresh"),
            graph.unique_name("fresh"),
        ]
        out["shapes"] = [str(t.shape) for t in (x, b, c)]
        node = b.op.node_def
        out["node"] = [node.name, node.op, *node.input]
        errors = []
        for name in ("nothing:0", "x:5"):
            try:
                graph.get_tensor_by_name(name)
            except KeyError as error:
                errors.append(type(error).__name__)
        graph.finalize()
        try:
            tf.constant(1.0)
        except RuntimeError as error:
            errors.append(type(error).__name__)
        out["errors"] = errors
    return out
