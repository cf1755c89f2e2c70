"""Event files: their frames, what stands in them, what writes to them. (TensorFlow reads one in
tests/peers/summaries.py.)"""

import struct
import subprocess
import sys

import pytest

import gyre
from gyre._impl.proto import messages


def bitwise_masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        head = data[at : at + 8]
        (size,), (crc,) = struct.unpack("<Q", head), struct.unpack("<I", data[at + 8 : at + 12])
        assert crc == bitwise_masked_crc(head)
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack("<I", data[at + 12 + size : at + 16 + size]) == (
            bitwise_masked_crc(body),
        )
        yield messages.Event.FromString(body)
        at += 16 + size


def scalars(folder):
    """[(tag, step, value)] of the only event file in a folder."""
    (path,) = folder.iterdir()
    first, *rest = records(path)
    assert first.file_version == "brain.Event:2" and path.name.startswith("events.out.tfevents.")
    found = []
    for event in rest:
        (value,) = event.summary.value
        assert value.metadata.plugin_data.plugin_name == "scalars"
        assert (
            value.metadata.data_class == 1 and value.tensor.dtype == gyre.float32.as_datatype_enum
        )
        assert value.tensor.HasField("tensor_shape") and not value.tensor.tensor_shape.dim
        found.append((value.tag, event.step, *value.tensor.float_val))
    return found


def test_from_python(tmp_path):
    writer = gyre.summary.create_file_writer(tmp_path)
    with writer.as_default():
        for step in range(3):
            assert bool(gyre.summary.scalar("loss", step / 2, step=step))
        with gyre.name_scope("train"):
            gyre.summary.scalar("rate", gyre.constant(3), step=gyre.constant(300, gyre.int64))
    assert not bool(gyre.summary.scalar("outside", 1.0, step=1))
    writer.close()
    assert scalars(tmp_path) == [
        ("loss", 0, 0.0),
        ("loss", 1, 0.5),
        ("loss", 2, 1.0),
        ("train/rate", 300, 3.0),
    ]


def test_from_loops_of_graphs(tmp_path):
    writer = gyre.summary.create_file_writer(tmp_path)

    @gyre.function
    def train(n):
        x = gyre.constant(1.0)
        for i in gyre.range(n):
            x *= 2.0
            with gyre.summary.record_if(i % 2 == 0):
                gyre.summary.scalar("x", x, step=i)
        gyre.summary.flush()
        return x

    with writer.as_default():
        train(gyre.constant(4))
    assert scalars(tmp_path) == [("x", 0, 2.0), ("x", 2, 8.0)]


def test_steps(tmp_path):
    writer = gyre.summary.create_file_writer(tmp_path)
    with writer.as_default():
        with pytest.raises(ValueError, match="no step"):
            gyre.summary.scalar("a", 1.0)
        gyre.summary.experimental.set_step(7)
        try:
            gyre.summary.scalar("a", 1.0)
            assert gyre.summary.experimental.get_step() == 7
        finally:
            gyre.summary.experimental.set_step(None)
    with writer.as_default(step=9), gyre.summary.record_if(lambda: True):
        gyre.summary.scalar("a", 2.0, description="what it is")
        assert gyre.summary.should_record_summaries()
    writer.flush()
    assert scalars(tmp_path) == [("a", 7, 1.0), ("a", 9, 2.0)]


def test_what_is_refused(tmp_path):
    writer = gyre.summary.create_file_writer(tmp_path)
    with writer.as_default(step=0):
        with pytest.raises(ValueError, match="must be a scalar"):
            gyre.summary.scalar("a", [1.0, 2.0])
        writer.close()
        with pytest.raises(ValueError, match="closed"):
            gyre.summary.scalar("a", 1.0)
    with gyre.summary.create_noop_writer().as_default(step=0):
        assert bool(gyre.summary.scalar("a", 1.0))


def test_file_system_that_takes_no_more(tmp_path):
    program = """if True:
        import resource, sys
        import gyre
        writer = gyre.summary.create_file_writer(sys.argv[1], max_queue=1000000)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        with writer.as_default(step=0):
            for i in range(100):
                gyre.summary.scalar("a" * 100, float(i))
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limit[1]))
        try:
            writer.flush()
        except OSError as error:
            print(error.filename)
        if sys.argv[2] == "more":
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            writer.flush()
    """
    for end in "more", "full":
        folder = tmp_path / end
        ended = subprocess.run(
            [sys.executable, "-c", program, folder, end], capture_output=True, text=True
        )
        (path,) = folder.iterdir()
        assert ended.returncode == 0 and ended.stdout == f"{path}\n"
        if end == "more":
            assert ended.stderr == ""
            assert len(list(records(path))) == 101
        else:
            assert "the last events are lost" in ended.stderr and str(path) in ended.stderr
            assert "Exception ignored" not in ended.stderr
