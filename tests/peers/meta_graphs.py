"""MetaGraphs and checkpoints go from Gyre to TensorFlow and back, and mean the same.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu.

- A program that trains a loop is built and saved in one, imported, restored and trained further in
  the other.
- Each restores into a graph of its own what the other's Saver wrote.
- Gyre restores what TensorFlow's Checkpoint of objects wrote.
- MetaGraphs of tests/saved_models, which Gyre imports, restores and saves again, run their steps in
  TensorFlow.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
MODELS = REPOSITORY / "tests/saved_models"
sys.path.insert(0, str(REPOSITORY / "tests/support"))

from golden_cases import array_of, difference  # noqa: E402
from gyre_python import run_gyre  # noqa: E402

# ---- What either side does: `tf` is its compat.v1


def build(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.variable_scope("net", use_resource=True):
        w = tf.get_variable(
            "w", initializer=[[0.5, -0.25, 0.125], [0.25, 0.5, -0.5], [0.125, 0.0, 0.25]]
        )
        count = tf.get_variable("count", initializer=0, trainable=False)
    _, h = tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])
    loss = tf.reduce_mean(tf.square(h - 0.5), name="loss")
    slope = tf.gradients(loss, [w])[0]
    train = tf.group(tf.assign_sub(w, 0.5 * slope), tf.assign_add(count, 1), name="train")
    tf.add_to_collection("steps", train)
    tf.add_to_collection("numbers", 3)
    tf.add_to_collection("rates", 0.25)
    tf.add_to_collection("words", "a word")
    tf.add_to_collection(tf.GraphKeys.LOSSES, loss)


def inputs():
    return np.array([[1.0, -0.5, 0.25], [0.5, 2.0, -1.0]], np.float32)


def train_on(tf, sess, steps):
    graph = sess.graph
    losses = []
    for _ in range(steps):
        sess.run(graph.get_operation_by_name("train"), {"x:0": inputs()})
        losses.append(float(sess.run("loss:0", {"x:0": inputs()})))
    return losses


def start(tf, folder):
    """Builds, trains, saves; what would come next."""
    with tf.Graph().as_default(), tf.Session() as sess:
        build(tf)
        saver = tf.train.Saver(max_to_keep=3)
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        sess.run(tf.global_variables_initializer())
        losses = train_on(tf, sess, 3)
        saver.save(sess, os.path.join(folder, "m"), global_step=3)
        return losses + train_on(tf, sess, 3)


def go_on(tf, folder):
    """Imports what was saved; trains it further; says what it has found."""
    with tf.Graph().as_default(), tf.Session() as sess:
        path = tf.train.latest_checkpoint(folder)
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(sess, path)
        found = {
            "variables": [v.name for v in tf.global_variables()],
            "trainable": [v.name for v in tf.trainable_variables()],
            "steps": [o.name for o in tf.get_collection("steps")],
            "numbers": list(tf.get_collection("numbers")),
            "rates": list(tf.get_collection("rates")),
            "words": [tf.compat.as_text(w) for w in tf.get_collection("words")],
            "losses": [t.name for t in tf.get_collection(tf.GraphKeys.LOSSES)],
            "savers": len(tf.get_collection(tf.GraphKeys.SAVERS)),
            "count": int(sess.run(tf.global_variables()[1])),
            "next": train_on(tf, sess, 3),
        }
    with tf.Graph().as_default(), tf.Session() as sess:
        # their variables keep the name under which sessions know them, and so are the same
        for _ in range(2):
            tf.train.import_meta_graph(path + ".meta", import_scope="a").restore(sess, path)
        sess.run("a_1/train", {"a_1/x:0": inputs()})
        found["scoped"] = [v.name for v in tf.global_variables()]
        found["shared"] = [
            float(sess.run(f"{scope}/loss:0", {f"{scope}/x:0": inputs()})) for scope in ("a", "a_1")
        ]
    with tf.Graph().as_default(), tf.Session() as sess:
        build(tf)
        tf.train.Saver().restore(sess, path)
        found["own"] = train_on(tf, sess, 3)
    found["listed"] = [[name, list(shape)] for name, shape in tf.train.list_variables(folder)]
    found["w"] = np.asarray(tf.train.load_variable(path, "net/w")).tolist()
    return found


def read_objects(tf, folder):
    """What Gyre restores from a checkpoint of objects."""
    import gyre

    w, parts = gyre.Variable([0.0, 0.0]), [gyre.Variable(0), gyre.Variable(b"")]
    names = gyre.train.Checkpoint(model={"w": w, "parts": parts}).restore(
        tf.train.latest_checkpoint(folder)
    )
    return [names, w.numpy().tolist(), int(parts[0]), parts[1].numpy().decode()]


def write_objects(tf, folder):
    """A checkpoint of objects by TensorFlow, and what is in it."""
    model = tf.Module()
    model.w, model.parts = tf.Variable([0.5, -1.5]), [tf.Variable(7), tf.Variable("text")]
    tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=2).save()
    return [["model/parts/0", "model/parts/1", "model/w"], [0.5, -1.5], 7, "text"]


def save_again(tf, case, folder):
    """A MetaGraph of tests/saved_models, imported, restored and saved."""
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(str(MODELS / case / "v1/model.meta"))
        saver.restore(sess, str(MODELS / case / "v1/model"))
        return saver.save(sess, os.path.join(folder, "again"))


WORK = {"start": start, "go_on": go_on, "save_again": save_again, "read_objects": read_objects}


# ---- The two sides


def under_gyre(work, *arguments):
    """What a function of WORK gives under Gyre, in a process of its own."""
    return json.loads(run_gyre("-W", "ignore", __file__, work, *arguments).splitlines()[-1])


def differences(got, want, path=""):
    """Where two structures of plain values differ; numbers by more than rounding."""
    if isinstance(want, dict):
        return [d for key in want for d in differences(got[key], want[key], f"{path}.{key}")]
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        return [
            d for i, pair in enumerate(zip(got, want)) for d in differences(*pair, f"{path}[{i}]")
        ]
    same = abs(got - want) <= 2e-6 * max(1, abs(want)) if isinstance(want, float) else got == want
    return [] if same else [f"{path}: {got}, not {want}"]


def steps_of(tf, folder, case, prefix):
    """What is wrong with the steps of the case in a folder under TensorFlow."""
    wrong = []
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.train.import_meta_graph(prefix + ".meta").restore(sess, prefix)
        for number, step in enumerate(case["steps"]):
            feeds = {name: array_of(value, folder) for name, value in step["feeds"].items()}
            targets = [graph.get_operation_by_name(name) for name in step["targets"]]
            values, _ = sess.run([step["fetches"], targets], feeds)
            for name, got in zip(step["fetches"], values):
                what = difference(got, array_of(step["expect"][name], folder), step)
                wrong += [] if what is None else [f"step {number}, {name}: {what}"]
    return wrong


def checks(tf, folder):
    """(name, function that returns what is wrong)."""
    ours, theirs = os.path.join(folder, "gyre"), os.path.join(folder, "tensorflow")
    expected = start(tf, theirs)
    want = go_on(tf, theirs)
    yield (
        "what TensorFlow saves goes on under TensorFlow",
        lambda: differences(want["next"], expected[3:]),
    )
    yield "the same program", lambda: differences(under_gyre("start", ours), expected)
    yield "TensorFlow reads what Gyre writes", lambda: differences(go_on(tf, ours), want)
    yield (
        "Gyre reads what TensorFlow writes",
        lambda: differences(under_gyre("go_on", theirs), want),
    )
    yield "Gyre reads what Gyre writes", lambda: differences(under_gyre("go_on", ours), want)
    objects = os.path.join(folder, "objects")
    written = write_objects(tf, objects)
    yield (
        "Gyre reads TensorFlow's objects",
        lambda: differences(under_gyre("read_objects", objects), written),
    )
    for path in sorted(MODELS.glob("*/case.json")):
        case = json.loads(path.read_text())
        if case["kind"] == "metagraph":
            name = path.parent.name
            yield (
                name,
                lambda path=path, case=case, name=name: steps_of(
                    tf,
                    path.parent,
                    case,
                    under_gyre("save_again", name, os.path.join(folder, name)),
                ),
            )


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, check in checks(tf, folder):
            try:
                wrong = check()
            except Exception as error:  # whatever a side says, the next check is to run
                wrong = [f"{type(error).__name__}: {error}"]
            for line in wrong:
                print(f"FAILED {name}: {line}")
            failed += bool(wrong)
            passed += not wrong
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


def main_of_gyre(work, arguments):
    import gyre.compat.v1 as tf

    print(json.dumps(WORK[work](tf, *arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main_of_gyre(sys.argv[1], sys.argv[2:]) if sys.argv[1:] else main())
