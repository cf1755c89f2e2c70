"""Virtual devices, threads, and the switches of functions."""

import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()]
)


@tf.function(jit_compile=False, reduce_retracing=True, autograph=False)
def spread(x):
    with tf.device("/CPU:0"):
        a = x * 2.0
    with tf.device("/CPU:1"):
        b = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * s), [0, x])[1]
    with tf.name_scope("sum"):
        return a + b


def main():
    logical = tf.config.list_logical_devices("CPU")
    result = spread(tf.constant(1.5))
    ran = []

    @tf.function
    def noted(x):
        ran.append(1)
        return x + 1

    noted(tf.constant(1))
    noted(tf.constant(2))
    traced = len(ran)
    tf.config.run_functions_eagerly(True)
    eagerly = tf.config.functions_run_eagerly()
    noted(tf.constant(3))
    noted(tf.constant(4))
    tf.config.run_functions_eagerly(False)
    return {
        "devices": len(logical),
        "types": [d.device_type for d in logical],
        "names": [d.name for d in logical],
        "physical": [cpus[0].name, cpus[0].device_type],
        "gpus": len(tf.config.list_physical_devices("GPU")),
        "result": result,
        "eager": tf.executing_eagerly(),
        "traced": traced,
        "after": len(ran),
        "eagerly": eagerly,
        "threads": tf.config.threading.get_inter_op_parallelism_threads(),
    }
