"""distribute.Checkpoint in one process: what it saves, when, and what it makes of damage."""

import os
import threading
import warnings

import numpy as np
import pytest

import gyre
from gyre._impl.checkpoints import parts
from gyre._impl.checkpoints.parts import Cut
from gyre.distribute import Checkpoint


def _numbers(make_data, folder, total, *, stop=None, in_graph=False):
    """What a run of steps makes of the elements of a dataset, and of random numbers: in each step
    a number. It gives up after `stop` steps."""
    gyre.random.set_seed(3)
    total_so_far = gyre.Variable(0.0)
    generator = gyre.random.Generator.from_seed(7)
    data = iter(make_data())
    take = gyre.function(lambda: next(data)) if in_graph else lambda: next(data)

    @gyre.function
    def add(x):
        noise = gyre.random.normal([]) + generator.normal([])
        return total_so_far.assign_add(gyre.reduce_sum(gyre.cast(x, gyre.float32)) + noise)

    checkpoint = Checkpoint(folder, total=total_so_far, generator=generator, data=data)
    numbers = []
    for step in checkpoint.steps(total, every=3):
        numbers.append((step, float(add(take())) + float(gyre.random.uniform([]))))
        if stop is not None and step + 1 == stop:
            break
    checkpoint.wait()
    return numbers


def _shuffled():
    return gyre.data.Dataset.range(20).shuffle(6).repeat().batch(2)


def _generated():
    def squares():
        for i in range(7):
            yield i * i

    spec = gyre.TensorSpec([], gyre.int64)
    return gyre.data.Dataset.from_generator(squares, output_signature=spec).repeat()


def _filtered():
    return gyre.data.Dataset.range(100).filter(lambda x: x % 3 == 1)


def _texts():
    texts = gyre.constant([str(i) * (1 + i % 3) for i in range(30)])
    return gyre.data.Dataset.from_tensor_slices(texts).shuffle(7).map(gyre.strings.length)


@pytest.mark.parametrize("make_data", [_shuffled, _generated, _filtered, _texts])
@pytest.mark.parametrize("in_graph", [False, True])
def test_a_run_goes_on_bit_for_bit(tmp_path, make_data, in_graph):
    whole = _numbers(make_data, tmp_path / "whole", 14, in_graph=in_graph)
    assert [step for step, _ in whole] == list(range(14))
    first = _numbers(make_data, tmp_path / "parted", 14, stop=8, in_graph=in_graph)
    assert first == whole[:8]
    assert _numbers(make_data, tmp_path / "parted", 14, in_graph=in_graph) == whole[6:]
    assert _numbers(make_data, tmp_path / "parted", 14, in_graph=in_graph) == []


def _saved(folder, *values, **options):
    """A checkpoint of a variable that has had these values, one after each step."""
    variable = gyre.Variable(0.0)
    checkpoint = Checkpoint(folder, variable=variable, **options)
    assert checkpoint.restore() == 0
    for step, value in enumerate(values):
        variable.assign(value)
        checkpoint.save(step + 1)
    checkpoint.wait()
    return checkpoint


def _restored(folder):
    variable = gyre.Variable(-1.0)
    return Checkpoint(folder, variable=variable).restore(), float(variable)


def test_only_the_last_few_stay(tmp_path):
    _saved(tmp_path, *range(5), keep=2)
    assert parts.published(str(tmp_path)) == [Cut(1, 5), Cut(1, 4)]
    assert sorted(os.listdir(tmp_path)) == ["generation", "step-4.1", "step-5.1"]
    assert _restored(tmp_path) == (5, 4.0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: (path / "manifest.json").write_text("{"),
        lambda path: (path / "manifest.json").unlink(),
        lambda path: (path / "0-of-1.safetensors").unlink(),
        lambda path: os.truncate(path / "0-of-1.safetensors", 100),
        lambda path: (path / "0-of-1.safetensors").write_bytes(
            (path / "0-of-1.safetensors").read_bytes()[:-1] + b"x"
        ),
    ],
)
def test_what_is_damaged_is_passed_over(tmp_path, damage):
    _saved(tmp_path, 10.0, 20.0)
    damage(tmp_path / "step-2.1")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert _restored(tmp_path) == (1, 10.0)
    unpublished = not (tmp_path / "step-2.1" / "manifest.json").exists()
    assert any("the checkpoint of step 2 is passed over" in str(w.message) for w in told) != (
        unpublished
    )


def test_files_are_written_beside_the_steps(tmp_path, monkeypatch):
    may_write, write = threading.Event(), parts.write_part

    def slowly(*args):
        assert may_write.wait(60)
        write(*args)

    monkeypatch.setattr(parts, "write_part", slowly)
    variable = gyre.Variable([1.0, 2.0])
    checkpoint = Checkpoint(tmp_path, variable=variable)
    checkpoint.restore()
    checkpoint.save(1)
    variable.assign_add([10.0, 10.0])  # the cut was before this
    assert parts.published(str(tmp_path)) == []
    may_write.set()
    checkpoint.wait()
    again = gyre.Variable([0.0, 0.0])
    assert Checkpoint(tmp_path, variable=again).restore() == 1
    assert np.array_equal(again.numpy(), [1.0, 2.0])


def test_what_goes_wrong_in_the_background_is_raised(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    checkpoint = _saved(tmp_path, 10.0)
    with monkeypatch.context() as patch:
        patch.setattr(parts, "write_part", fails)
        checkpoint.save(2)
        with pytest.raises(OSError, match="No space left"):
            checkpoint.wait()
    checkpoint.save(3)
    checkpoint.wait()
    assert _restored(tmp_path) == (3, 10.0)


def test_an_older_generation_publishes_nothing(tmp_path):
    old = _saved(tmp_path, 10.0)
    assert _restored(tmp_path) == (1, 10.0)  # another generation has begun
    old.save(2)
    with pytest.raises(gyre.errors.FailedPreconditionError, match="generation 2 has begun"):
        old.wait()
    assert _restored(tmp_path) == (1, 10.0)


def test_a_later_generation_counts(tmp_path):
    _saved(tmp_path, 10.0, 20.0, 30.0)
    for folder in ("step-3.1", "step-2.1"):
        (tmp_path / folder / "manifest.json").unlink()
    variable = gyre.Variable(0.0)
    checkpoint = Checkpoint(tmp_path, variable=variable)
    assert checkpoint.restore() == 1
    variable.assign(25.0)
    checkpoint.save(2)
    checkpoint.wait()
    assert _restored(tmp_path) == (2, 25.0)
    assert sorted(os.listdir(tmp_path)) == ["generation", "step-1.1", "step-2.2"]


def test_what_makes_no_sense(tmp_path):
    variable = gyre.Variable(1.0)
    with pytest.raises(ValueError, match="keep"):
        Checkpoint(tmp_path, keep=0, variable=variable)
    with pytest.raises(ValueError, match="every"):
        next(Checkpoint(tmp_path, variable=variable).steps(3, every=0))
    with pytest.raises(gyre.errors.FailedPreconditionError, match="begins with restore"):
        Checkpoint(tmp_path, variable=variable).save(1)
    (tmp_path / "generation").write_text("much")
    with pytest.raises(gyre.errors.DataLossError, match="generation is damaged"):
        Checkpoint(tmp_path, variable=variable).restore()


def test_an_iterator_over_another_dataset(tmp_path):
    checkpoint = Checkpoint(tmp_path, data=iter(_shuffled()), variable=gyre.Variable(1.0))
    checkpoint.restore()
    checkpoint.save(1)
    checkpoint.wait()
    other = Checkpoint(tmp_path, data=iter(_filtered()), variable=gyre.Variable(1.0))
    with pytest.raises(gyre.errors.InvalidArgumentError, match="is over another dataset"):
        other.restore()
    third = Checkpoint(tmp_path, rows=iter(_filtered()), variable=gyre.Variable(1.0))
    with pytest.raises(gyre.errors.NotFoundError, match="does not say where"):
        third.restore()


def test_elements_of_several_sizes_in_a_buffer_are_refused(tmp_path):
    data = gyre.data.Dataset.range(1, 9).map(lambda n: gyre.range(n)).shuffle(4)
    checkpoint = Checkpoint(tmp_path, data=iter(data), variable=gyre.Variable(1.0))
    checkpoint.restore()
    with pytest.raises(gyre.errors.UnimplementedError, match="elements of several sizes"):
        checkpoint.save(1)
