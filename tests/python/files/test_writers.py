"""What the package writes: whoever is killed or fails when, it is the old one or the new one,
whole, and nothing else is left."""

import contextlib
import os
import random
import resource
import shutil
import signal
import stat
import tempfile
import time
import warnings

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf
from gyre._impl.checkpoints.state import update_checkpoint_state
from gyre._impl.files import write_file

KILLS = 100


@pytest.fixture
def folder():
    """On no disk, where there is such a place: a flush takes no time there."""
    made = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    yield made
    shutil.rmtree(made)


def kill_at_random_moments(write, check):
    """Lets children call write(1), write(2), …, kills them, and calls check() after each."""
    moments = random.Random(20261123)
    for _ in range(KILLS):
        reads, writes = os.pipe()
        with warnings.catch_warnings():  # of forks in processes with threads
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.write(writes, b"x")
                for i in range(1, 1 << 30):
                    write(i)
            os._exit(1)
        os.read(reads, 1)
        time.sleep(moments.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(reads)
        os.close(writes)
        assert os.WIFSIGNALED(status), "it ended by itself"
        check()


def files_below(folder):
    return sorted(
        os.path.relpath(os.path.join(root, name), folder)
        for root, _, names in os.walk(folder)
        for name in names
    )


def test_savers_and_what_they_write_beside(folder):
    with tf.Graph().as_default(), tf.Session() as sess:
        step, large = (
            tf.Variable(0, name="step"),
            tf.Variable(np.zeros(5000, "int32"), name="large"),
        )
        saver = tf.train.Saver()
        value = tf.placeholder(tf.int32, [])
        assign = tf.group(step.assign(value), large.assign(tf.fill([5000], value)))
        prefix = os.path.join(folder, "model")

        def write(i):
            sess.run(assign, {value: i})
            saver.save(sess, prefix)

        def check():
            path = tf.train.latest_checkpoint(folder)
            assert path == prefix
            saver.restore(sess, path)
            numbers = sess.run(large)
            assert (numbers == sess.run(step)).all()
            with tf.Graph().as_default():
                assert tf.train.import_meta_graph(path + ".meta") is not None

        write(0)
        kill_at_random_moments(write, check)
        write(7)
        check()
    left = [name for name in files_below(folder) if not name.startswith("model.data-")]
    assert left == ["checkpoint", "model.index", "model.meta"]
    assert len(files_below(folder)) <= 3 + 2


def test_safetensors(folder):
    v = gyre.Variable(np.zeros(5000, "int32"))

    def write(i):
        v.assign(np.full(5000, i, "int32"))
        gyre.save_variables(folder, {"v": v})

    def check():
        gyre.restore_variables(folder, {"v": v})
        assert len(set(v.numpy().tolist())) == 1

    write(0)
    kill_at_random_moments(write, check)
    write(1)
    assert files_below(folder) == ["variables.safetensors"]


def test_checkpoint_managers(folder):
    v = gyre.Variable(np.zeros(5000, "int32"))

    def manager():
        return gyre.train.CheckpointManager(gyre.train.Checkpoint(v=v), folder, max_to_keep=2)

    kept = manager()

    def write(i):
        v.assign(np.full(5000, i, "int32"))
        kept.save()

    def check():
        nonlocal kept
        kept = manager()
        assert kept.restore_or_initialize() is not None
        assert len(set(v.numpy().tolist())) == 1

    write(0)
    kill_at_random_moments(write, check)
    write(1)
    left = [name for name in files_below(folder) if name.endswith(".safetensors")]
    assert [os.path.join(folder, name) for name in left] == sorted(
        f"{path}.safetensors" for path in kept.checkpoints
    )


class Scaled(gyre.Module):
    def __init__(self):
        self.weights = gyre.Variable(np.zeros(2000, "float32"))
        self.number = gyre.Variable(0.0)


def save_scaled(module, path, i):
    """A model whose graph and variables hold one number."""
    module.weights.assign(np.full(2000, i, "float32"))
    module.number.assign(float(i))

    @gyre.function(input_signature=[gyre.TensorSpec([], gyre.float32)])
    def f(x):
        return {"graph": x + float(i), "numbers": module.weights + module.number}

    gyre.saved_model.save(module, path, f)


def test_saved_models(folder):
    path, module = os.path.join(folder, "model"), Scaled()
    save_scaled(module, path, 0)
    os.mkdir(os.path.join(path, "assets.extra"))
    with open(os.path.join(path, "assets.extra", "notes"), "w", encoding="utf-8") as notes:
        notes.write("mine")

    def check():
        result = gyre.saved_model.load(path).signatures["serving_default"](x=gyre.constant(0.0))
        assert set(result["numbers"].numpy().tolist()) == {2 * float(result["graph"])}
        with open(os.path.join(path, "assets.extra", "notes"), encoding="utf-8") as notes:
            assert notes.read() == "mine"

    kill_at_random_moments(lambda i: save_scaled(module, path, i), check)
    save_scaled(module, path, 1)
    assert files_below(folder) == [
        f"model/{name}"
        for name in (
            "assets.extra/notes",
            "saved_model.pb",
            "variables/variables.data-00000-of-00001",
            "variables/variables.index",
        )
    ]


def test_states_and_pages(folder):
    page = gyre.show(gyre.function(lambda x: x * 2), gyre.constant(1.0))

    def write(i):
        update_checkpoint_state(
            folder,
            os.path.join(folder, f"m-{i}"),
            [os.path.join(folder, f"m-{k}") for k in range(i)],
        )
        page.save(os.path.join(folder, "page.html"))

    def check():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state = tf.train.get_checkpoint_state(folder)
        assert state.all_model_checkpoint_paths[-1] == state.model_checkpoint_path
        with open(os.path.join(folder, "page.html"), encoding="utf-8") as file:
            assert file.read() == page.html

    write(0)
    kill_at_random_moments(write, check)
    write(1)
    assert files_below(folder) == ["checkpoint", "page.html"]


@contextlib.contextmanager
def full_disk(size):
    """Files grow no larger than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("size", [0, 100, 1000, 5000])
def test_a_full_disk_leaves_what_was_there(folder, size):
    path, module = os.path.join(folder, "model"), Scaled()
    save_scaled(module, path, 3)
    gyre.save_variables(folder, module)
    before = files_below(folder)
    module.weights.assign(np.full(2000, 4, "float32"))
    with full_disk(size):
        with pytest.raises(
            OSError, match=r"cannot write .*variables.safetensors: File too large; raise the limit"
        ):
            gyre.save_variables(folder, module)
        with pytest.raises((OSError, gyre.errors.ResourceExhaustedError), match="File too large"):
            save_scaled(module, path, 4)
    assert files_below(folder) == before
    gyre.restore_variables(folder, module)
    assert set(module.weights.numpy().tolist()) == {3}
    result = gyre.saved_model.load(path).signatures["serving_default"](x=gyre.constant(0.0))
    assert float(result["graph"]) == 3


def test_a_file_is_no_folder(folder):
    file = os.path.join(folder, "file")
    write_file(file, b"x")
    module = Scaled()
    for path in (file, os.path.join(file, "below", "model")):
        for write in (gyre.save_variables, gyre.train.Checkpoint(module=module).write):
            with pytest.raises(NotADirectoryError, match=f"{file} is a file, not a folder"):
                write(path, module) if write is gyre.save_variables else write(path)
        with pytest.raises(NotADirectoryError, match=f"{file} is a file, not a folder"):
            save_scaled(module, path, 3)
    link = os.path.join(folder, "full.safetensors")
    os.symlink("/dev/full", link)
    with pytest.raises(
        OSError, match="cannot write .*full.safetensors: No space left.*; make room"
    ):
        gyre.save_variables(link, module)


def test_errors_are_those_of_python(folder):
    with pytest.raises(FileNotFoundError, match=f"there is no folder {folder}/no"):
        write_file(os.path.join(folder, "no", "file"), b"x")
    with pytest.raises(IsADirectoryError):
        write_file(folder, b"x")
    with pytest.raises(ValueError, match="zero byte"):
        write_file("a\0b", b"x")
    with pytest.raises(TypeError):
        write_file(os.path.join(folder, "file"), 3)
    assert files_below(folder) == []


def test_links_modes_and_large_pieces(folder):
    target, link = os.path.join(folder, "file"), os.path.join(folder, "link")
    write_file(target, b"old")
    os.chmod(target, 0o640)
    os.symlink("file", link)
    large = np.arange(3_000_000)
    write_file(link, b"head", memoryview(large).cast("B"), b"")
    assert os.path.islink(link) and stat.S_IMODE(os.stat(target).st_mode) == 0o640
    with open(target, "rb") as file:
        assert file.read() == b"head" + large.tobytes()
    assert files_below(folder) == ["file", "link"]
