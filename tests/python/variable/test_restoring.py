"""Checkpoints that are restored before all variables are there, and what their status says."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import gyre
from gyre._impl.tracing import late_values


class Lazy(gyre.Module):
    """Its variables are made by the first call."""

    def __init__(self):
        super().__init__()
        self.w = None
        self.more = []

    def __call__(self, x):
        if self.w is None:
            self.w = gyre.Variable(gyre.zeros([2]))
            self.more.append(gyre.Variable(0.0))
        return self.w * x + self.more[0]


def saved(folder):
    """The path of a checkpoint of such a model, whose variables are [3, 4] and 5."""
    model = Lazy()
    model(1.0)
    model.w.assign([3.0, 4.0])
    model.more[0].assign(5.0)
    return gyre.train.Checkpoint(net=model).save(folder / "lazy")


@pytest.fixture(autouse=True)
def nothing_waits_before():
    late_values.waiting.clear()


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_variables_that_are_made_later_get_their_values(tmp_path, wrap):
    model = Lazy()
    status = gyre.train.Checkpoint(net=model).restore(saved(tmp_path))
    assert status == []
    with pytest.raises(AssertionError, match="no variable has taken .*'net/more/0', 'net/w'"):
        status.assert_consumed()
    assert wrap(lambda x: model(x))(gyre.constant(1.0)).numpy().tolist() == [8, 9]
    assert status.assert_consumed() is status
    assert not late_values.waiting


def test_a_value_is_given_before_it_is_changed(tmp_path):
    model = Lazy()
    gyre.train.Checkpoint(net=model).restore(saved(tmp_path))
    model.w = gyre.Variable([0.0, 0.0])
    model.w.assign_add([1.0, 1.0])
    model.more.append(gyre.Variable(0.0))
    model.more[0].assign_add(1.0)
    assert model.w.numpy().tolist() == [4, 5] and float(model.more[0]) == 6
    assert model(1.0).numpy().tolist() == [10, 11]


def test_an_optimizer_is_restored_before_its_first_step(tmp_path):
    def train(w, optimizer, steps):
        for _ in range(steps):
            optimizer.minimize(lambda: gyre.reduce_sum(w**4), [w])

    def start():
        w, optimizer = gyre.Variable([1.0, -2.0]), gyre.optimizers.Adam(0.1)
        return w, optimizer, gyre.train.Checkpoint(w=w, optimizer=optimizer)

    w, optimizer, checkpoint = start()
    train(w, optimizer, 3)
    path = checkpoint.save(tmp_path / "run")
    train(w, optimizer, 3)
    again, other, restored = start()
    status = restored.restore(path).assert_existing_objects_matched()
    train(again, other, 3)
    status.assert_consumed()
    np.testing.assert_array_equal(again.numpy(), w.numpy())


def test_what_a_checkpoint_is_given_later_is_restored(tmp_path):
    checkpoint = gyre.train.Checkpoint()
    checkpoint.restore(saved(tmp_path))
    checkpoint.net = Lazy()
    assert checkpoint.net(1.0).numpy().tolist() == [8, 9]


def test_the_last_restore_wins(tmp_path):
    model, checkpoint = Lazy(), gyre.train.Checkpoint(net=Lazy())
    checkpoint.net(1.0)
    zeros = checkpoint.save(tmp_path / "zeros")
    later = gyre.train.Checkpoint(net=model)
    later.restore(saved(tmp_path))
    later.restore(zeros)
    assert model(1.0).numpy().tolist() == [0, 0]


def test_a_value_that_does_not_fit_later(tmp_path):
    model = Lazy()
    gyre.train.Checkpoint(net=model).restore(saved(tmp_path))
    with pytest.raises(gyre.errors.InvalidArgumentError, match=r"'net/w' is float32 of shape \(2,"):
        model.w = gyre.Variable([1.0, 2.0, 3.0])
    assert model.w.numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize("model", [Lazy, lambda: {"lazy": Lazy()}], ids=["module", "dict"])
def test_values_do_not_outlive_the_objects_that_they_wait_for(tmp_path, model):
    model = model()
    gyre.train.Checkpoint(net=model).restore(saved(tmp_path))
    assert late_values.waiting
    gone = weakref.ref(model["lazy"] if isinstance(model, dict) else model)
    del model
    gc.collect()
    assert gone() is None
    late_values.look()
    assert not late_values.waiting


def test_what_a_status_says(tmp_path):
    path = saved(tmp_path)
    other = gyre.train.Checkpoint(net={"w": gyre.Variable([0.0, 0.0])}, z=gyre.Variable(1.0))
    with pytest.warns(UserWarning, match=r"no values of these variables, .* \['z'\]; restore"):
        assert other.restore(path) == ["net/w"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        status = other.restore(path).expect_partial().assert_nontrivial_match()
    with pytest.raises(AssertionError, match="no values of these variables: .'z'"):
        status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="no variable has taken .*: .'net/more/0'"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="no variable has a value of"):
        gyre.train.Checkpoint(z=gyre.Variable(1.0)).restore(path).assert_nontrivial_match()
    with pytest.raises(AssertionError, match="its path was None"):
        other.restore(None).assert_consumed()
    assert other.read(path).expect_partial() == ["net/w"]
