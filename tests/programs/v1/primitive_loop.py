"""A loop built by hand of Enter, Merge, Switch, NextIteration and Exit;
a conditional of Switch and Merge."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    n = tf.placeholder(tf.int32, [])
    ops = tf.raw_ops
    enter_i = ops.Enter(data=tf.constant(0), frame_name="loop")
    enter_x = ops.Enter(data=tf.constant(1), frame_name="loop")
    limit = ops.Enter(data=n, frame_name="loop", is_constant=True)
    merge_i = ops.Merge(inputs=[enter_i, enter_i])
    merge_x = ops.Merge(inputs=[enter_x, enter_x])
    go_on = ops.LoopCond(input=ops.Less(x=merge_i.output, y=limit))
    i_out, i_in = ops.Switch(data=merge_i.output, pred=go_on)
    x_out, x_in = ops.Switch(data=merge_x.output, pred=go_on)
    with tf.control_dependencies([i_in]):
        one, two = tf.constant(1), tf.constant(2)
    next_i = ops.NextIteration(data=ops.AddV2(x=i_in, y=one))
    next_x = ops.NextIteration(data=ops.Mul(x=x_in, y=two))
    merge_i.output.op._update_input(1, next_i)
    merge_x.output.op._update_input(1, next_x)
    power = ops.Exit(data=x_out)
    count = ops.Exit(data=i_out)

    flag = tf.placeholder(tf.bool, [])
    no, yes = ops.Switch(data=power, pred=flag)
    merged, index = ops.Merge(inputs=[ops.Neg(x=no), ops.Square(x=yes)])
    with tf.Session() as sess:
        return {
            "powers": [sess.run(power, {n: k}) for k in (0, 1, 5, 10)],
            "count": sess.run(count, {n: 6}),
            "merged": [sess.run([merged, index], {n: 3, flag: f}) for f in (True, False)],
            "type": merge_i.output.op.type,
        }
