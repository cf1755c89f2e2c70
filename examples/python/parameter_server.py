"""Training with a parameter server: variables on one worker, the training loop itself on another.

A recurrent network learns to add up numbers. Its variables live on the job `ps`, and so does the
product of inputs and weights, within the loop over the steps of a sequence: the loop runs on both
workers. Its gradient runs where it does. All steps of training are one loop of the graph: the
client says "train", once.

    python examples/python/parameter_server.py
"""

import gyre
import gyre.compat.v1 as tf

BATCH, STEPS, UNITS, RATE = 32, 6, 16, 0.1
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def variables():
    """The network's parameters, on the parameter server."""
    with tf.device(PS):
        return [
            tf.Variable(tf.random_normal([1, UNITS], stddev=0.5, seed=1), name="inputs"),
            tf.Variable(tf.random_normal([UNITS, UNITS], stddev=0.2, seed=2), name="recurrent"),
            tf.Variable(tf.random_normal([UNITS, 1], stddev=0.2, seed=3), name="output"),
        ]


def predict(sequences, inputs, recurrent, output):
    """The network's sums of sequences [STEPS, BATCH, 1]: [BATCH, 1]. A loop on both workers."""

    def step(t, h):
        with tf.device(PS):
            drive = tf.matmul(sequences[t], inputs)
        with tf.device(WORKER):
            return t + 1, tf.tanh(drive + tf.matmul(h, recurrent))

    _, h = tf.while_loop(lambda t, h: t < STEPS, step, [0, tf.zeros([BATCH, UNITS])])
    return tf.matmul(h, output)


def train(parameters, steps):
    """The losses of so many steps of gradient descent, as one loop on the worker."""

    def step(i, losses):
        sequences = tf.random_uniform([STEPS, BATCH, 1], -0.5, 0.5, seed=4)
        values = [parameter.read_value() for parameter in parameters]
        error = predict(sequences, *values) - tf.reduce_sum(sequences, axis=0)
        loss = tf.reduce_mean(tf.square(error))
        gradients = tf.gradients(loss, values, colocate_gradients_with_ops=True)
        with tf.device(PS):
            updates = [
                parameter.assign_sub(RATE * gradient)
                for parameter, gradient in zip(parameters, gradients)
            ]
        with tf.control_dependencies(updates):  # the next step reads what this one has written
            return tf.identity(i + 1), losses.write(i, loss)

    with tf.device(WORKER):
        losses = tf.TensorArray(tf.float32, steps)
        _, losses = tf.while_loop(lambda i, _: i < steps, step, [0, losses], parallel_iterations=1)
        return losses.stack()


def main(steps=300, report=print):
    """Trains, and returns the losses."""
    with gyre.cluster.start_workers(2) as workers, tf.Graph().as_default():
        tf.set_random_seed(1)
        server, worker = workers.addresses
        cluster = gyre.cluster.connect([f"{WORKER}={worker}", f"{PS}={server}"])
        parameters = variables()
        losses = train(parameters, steps)
        with tf.Session(cluster) as session:
            session.run(tf.global_variables_initializer())
            found = session.run(losses)
        report(
            f"variables on {parameters[0].device}; {steps} steps of training in one run of the "
            "session"
        )
        for i in range(0, steps, max(1, steps // 6)):
            report(f"step {i:4}: loss {found[i]:.4f}")
        report(f"step {steps - 1:4}: loss {found[-1]:.4f}")
    return found


if __name__ == "__main__":
    losses = main()
    assert losses[-20:].mean() < losses[:20].mean() / 10
