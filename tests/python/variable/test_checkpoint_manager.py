"""train.CheckpointManager: which checkpoints stay, and where a program goes on."""

import os

import pytest

import gyre
from gyre._impl.checkpoints import manager as managers


@pytest.fixture
def clock(monkeypatch):
    """Hours that pass when they are told to."""

    class Clock:
        now = 1_000_000.0

        def time(self):
            return self.now

        def wait(self, hours):
            self.now += hours * 3600

    clock = Clock()
    monkeypatch.setattr(managers, "time", clock)
    return clock


def made(tmp_path, max_to_keep=2, **options):
    v = gyre.Variable(0.0)
    return v, gyre.train.CheckpointManager(
        gyre.train.Checkpoint(v=v), tmp_path, max_to_keep, **options
    )


def files(tmp_path):
    return sorted(name.removesuffix(".safetensors") for name in os.listdir(tmp_path))


def test_the_last_few_stay(tmp_path):
    v, manager = made(tmp_path / "new" / "folder", max_to_keep=2)
    folder = tmp_path / "new" / "folder"
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    paths = []
    for value in range(4):
        v.assign(float(value))
        paths.append(manager.save())
    assert paths == [str(folder / f"ckpt-{i}") for i in (1, 2, 3, 4)]
    assert manager.checkpoints == paths[2:] and manager.latest_checkpoint == paths[3]
    assert gyre.train.latest_checkpoint(folder) == paths[3]
    assert files(folder) == ["checkpoint", "ckpt-3", "ckpt-4"]
    manager.checkpoint.restore(manager.checkpoints[0])
    assert float(v) == 2.0 and manager.directory == str(folder)


def test_all_stay_without_a_number(tmp_path):
    _, manager = made(tmp_path, max_to_keep=None)
    assert manager.checkpoints == [] and [manager.save() for _ in range(7)] == manager.checkpoints


def test_the_next_process_goes_on(tmp_path):
    v, manager = made(tmp_path)
    v.assign(5.0)
    for _ in range(3):
        manager.save()
    w, again = made(tmp_path)
    assert again.checkpoints == manager.checkpoints
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-3")
    assert float(w) == 5.0
    assert again.save() == str(tmp_path / "ckpt-4")
    assert files(tmp_path) == ["checkpoint", "ckpt-3", "ckpt-4"]


def test_a_folder_may_be_moved(tmp_path):
    _, manager = made(tmp_path / "a")
    manager.save()
    os.rename(tmp_path / "a", tmp_path / "b")
    v, moved = made(tmp_path / "b")
    assert moved.latest_checkpoint == str(tmp_path / "b" / "ckpt-1")
    assert moved.restore_or_initialize() == moved.latest_checkpoint


def test_what_is_gone_is_not_counted(tmp_path):
    _, manager = made(tmp_path, max_to_keep=3)
    for _ in range(3):
        manager.save()
    os.remove(tmp_path / "ckpt-2.safetensors")
    _, again = made(tmp_path, max_to_keep=3)
    assert again.checkpoints == [str(tmp_path / "ckpt-1"), str(tmp_path / "ckpt-3")]


def test_numbers_of_ones_own(tmp_path):
    _, manager = made(tmp_path, checkpoint_name="m")
    assert manager.save(checkpoint_number=100) == str(tmp_path / "m-100")
    assert manager.save(gyre.constant(7)) == str(tmp_path / "m-7")
    manager.save(100)  # once more: it is the last now
    assert manager.checkpoints == [str(tmp_path / "m-7"), str(tmp_path / "m-100")]
    assert manager.latest_checkpoint == str(tmp_path / "m-100")


def test_one_in_some_hours_stays_for_good(tmp_path, clock):
    _, manager = made(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    for _ in range(6):
        clock.wait(1)
        manager.save()
    assert manager.checkpoints == [str(tmp_path / "ckpt-6")]
    assert files(tmp_path) == ["checkpoint", "ckpt-2", "ckpt-4", "ckpt-6"]
    _, again = made(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    again.restore_or_initialize()
    clock.wait(1)
    again.save()  # 6 is two hours after 4, which stays
    assert files(tmp_path) == ["checkpoint", "ckpt-2", "ckpt-4", "ckpt-6", "ckpt-7"]


def test_an_interval_of_steps(tmp_path):
    step = gyre.Variable(0)
    v, manager = made(tmp_path, step_counter=step, checkpoint_interval=10)
    saved = []
    for _ in range(25):
        saved.append(manager.save() is not None)
        step.assign_add(1)
    assert [i for i, was in enumerate(saved) if was] == [0, 10, 20]
    assert manager.save(check_interval=False) is not None and manager.checkpoint_interval == 10


def test_what_there_is_to_do_at_first(tmp_path):
    calls = []
    _, manager = made(tmp_path, init_fn=lambda: calls.append(1))
    assert manager.restore_or_initialize() is None and calls == [1]
    manager.save()
    assert manager.restore_or_initialize() == str(tmp_path / "ckpt-1") and calls == [1]


@pytest.mark.parametrize(
    "options, kind",
    [
        ({"max_to_keep": 0}, ValueError),
        ({"max_to_keep": -1}, ValueError),
        ({"max_to_keep": 1.5}, TypeError),
        ({"keep_checkpoint_every_n_hours": 0}, ValueError),
        ({"keep_checkpoint_every_n_hours": "a"}, TypeError),
        ({"checkpoint_interval": -1, "step_counter": 1}, ValueError),
        ({"checkpoint_interval": 5}, ValueError),
    ],
)
def test_numbers_are_looked_at(tmp_path, options, kind):
    with pytest.raises(kind, match=next(iter(options))):
        made(tmp_path, **options)


def test_something_else_than_a_checkpoint(tmp_path):
    with pytest.raises(TypeError, match="train.Checkpoint"):
        gyre.train.CheckpointManager({"v": gyre.Variable(1.0)}, tmp_path, 1)


def test_what_lies_elsewhere_is_not_removed(tmp_path):
    other = gyre.train.Checkpoint(v=gyre.Variable(1.0)).write(str(tmp_path / "model"))
    _, manager = made(tmp_path / "mine", max_to_keep=1)
    manager.save()
    record = tmp_path / "mine" / "checkpoint"
    record.write_text(record.read_text() + f'all_model_checkpoint_paths: "{other}"\n')
    v, manager = made(tmp_path / "mine", max_to_keep=1)
    manager.save()
    assert other not in manager.checkpoints
    assert gyre.train.Checkpoint(v=v).restore(other) is not None and float(v) == 1.0
