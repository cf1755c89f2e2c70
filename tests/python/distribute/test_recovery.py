"""Training that goes on when ranks are killed: the weights are those of an undisturbed run."""

import os
import random
import signal
import time

import pytest

from launch import Supervised

_SEED = int(os.environ.get("GYRE_TEST_SEED", 20261127))

# Shuffled data, random numbers in the step, an optimizer with slots: all goes on where it was.
_TRAIN = """
import os, sys, time
import numpy as np
import gyre
from gyre import distribute as d

folder, total, pause = os.environ["FOLDER"], int(os.environ["TOTAL"]), float(os.environ["PAUSE"])
failure_timeout = float(os.environ.get("FAILURE", 5.0))
gyre.random.set_seed(11)

def train():
    rng = np.random.default_rng(3)
    x = rng.normal(size=[96, 8]).astype(np.float32)
    y = (x @ rng.normal(size=[8, 1])).astype(np.float32)
    strategy = d.MultiWorkerMirroredStrategy() if gyre.cluster.size() > 1 else d.get_strategy()
    with strategy.scope():
        w = gyre.Variable(gyre.random.normal([8, 1]))
        b = gyre.Variable(gyre.zeros([1]))
        optimizer = gyre.optimizers.Adam(0.05)
    data = gyre.data.Dataset.from_tensor_slices((x, y)).shuffle(40).repeat().batch(12)
    data = iter(strategy.experimental_distribute_dataset(data))

    def replica(x, y):
        x = x + 0.01 * gyre.random.normal([8])
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_sum((x @ w + b - y) ** 2) / 12.0
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
        return loss

    @gyre.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(replica, args=(x, y)))

    checkpoint = d.Checkpoint(folder, w=w, b=b, optimizer=optimizer, data=data)
    for i in checkpoint.steps(total, every=4):
        step(*next(data))
        time.sleep(pause)
        print(i + 1, gyre.cluster.rank(), flush=True)
    return w.numpy().tobytes().hex() + b.numpy().tobytes().hex()

def where():  # as if rank 0 might move
    return os.environ["GYRE_HOSTS"].split(",")[0]

coordinator = where if "MOVES" in os.environ else None
print(d.run(train, coordinator=coordinator, failure_timeout=failure_timeout), flush=True)
"""


def _training(n: int, folder, *, total: int = 60, pause: float = 0.0, **env) -> Supervised:
    env = {name: str(value) for name, value in env.items()}
    env |= {"FOLDER": str(folder), "TOTAL": str(total), "PAUSE": str(pause)}
    return Supervised(n, _TRAIN, env)


def _undisturbed(n: int, folder, total: int = 60) -> str:
    with _training(n, folder, total=total) as ranks:
        weights = ranks.await_end()
    assert weights == weights[:1] * n
    return weights[0]


def _has_come_to(ranks: Supervised, step: int, rank: int = 0):
    return lambda: any(int(line.split()[0]) >= step for line in ranks.said[rank] if " " in line)


@pytest.mark.parametrize("n, env", [(2, {}), (3, {}), (3, {"MOVES": 1})])
def test_ranks_that_are_killed_at_random_moments(tmp_path, n, env):
    expected = _undisturbed(n, tmp_path / "undisturbed")
    draw = random.Random(_SEED + n)
    print("seed", _SEED)
    with _training(n, tmp_path / "killed", pause=0.03, **env) as ranks:
        for step in sorted(draw.sample(range(1, 30), 3)):
            ranks.await_(_has_come_to(ranks, step))
            # Now and then another one dies while the others come together again.
            for killed in draw.choices(range(n), k=draw.choice([1, 2])):
                time.sleep(draw.uniform(0.0, 0.4))
                ranks.kill(killed)
        assert ranks.await_end() == [expected] * n
    assert any("is gone" in line for lines in ranks.errors for line in lines)


def test_a_launch_that_is_killed_as_a_whole(tmp_path):
    expected = _undisturbed(2, tmp_path / "undisturbed")
    with _training(2, tmp_path / "killed", pause=0.03) as ranks:
        ranks.await_(_has_come_to(ranks, 21))
        for rank in range(2):
            ranks.kill(rank)
        assert ranks.await_end() == [expected] * 2
        first_again = [int(line.split()[0]) for line in ranks.said[0] if " " in line]
    at = max(range(1, len(first_again)), key=lambda i: first_again[i - 1] - first_again[i])
    assert 16 < first_again[at] <= first_again[at - 1]


def test_a_process_whose_place_is_taken_is_fenced_off(tmp_path):
    expected = _undisturbed(3, tmp_path / "undisturbed")
    with _training(3, tmp_path / "run", pause=0.1, FAILURE=1.0) as ranks:
        ranks.await_(_has_come_to(ranks, 6))
        old = ranks.replace(1, signal.SIGSTOP)
        ranks.await_(lambda: any("nothing was heard of it" in line for line in ranks.errors[0]))
        ranks.await_(_has_come_to(ranks, 12))
        old.send_signal(signal.SIGCONT)
        # The others cannot come together before the old one has come, too.
        ranks.kill(1, signal.SIGSTOP)
        ranks.kill(0)
        assert old.wait(60) == 1
        ranks.kill(1, signal.SIGCONT)
        assert ranks.await_end() == [expected] * 3
    assert any("another one has taken its place" in line for line in ranks.errors[1])


# Sums of these are exact, however many ranks share them.
_EXACT = """
import os
import numpy as np
import gyre
from gyre import distribute as d

gyre.random.set_seed(5)
total = int(os.environ["TOTAL"])

def train():
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 5, [96, 3]).astype(np.float32)
    y = (x @ [[1.0], [-2.0], [3.0]]).astype(np.float32)
    strategy = d.MultiWorkerMirroredStrategy() if gyre.cluster.size() > 1 else d.get_strategy()
    with strategy.scope():
        w = gyre.Variable(np.float32([[1.0], [2.0], [3.0]]))
        optimizer = gyre.optimizers.SGD(2.0**-9)
    context = d.InputContext(
        gyre.cluster.size(), gyre.cluster.rank(), strategy.num_replicas_in_sync
    )
    rows = gyre.data.Dataset.from_tensor_slices((x, y)).shuffle(96, reshuffle_each_iteration=False)
    if os.environ.get("SHARDS"):
        rows = rows.shard(context.num_input_pipelines, context.input_pipeline_id)
        data = iter(rows.batch(context.get_per_replica_batch_size(12)).repeat())
    else:
        data = iter(strategy.experimental_distribute_dataset(rows.batch(12).repeat()))

    def replica(x, y):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_sum((x @ w - y) ** 2) / 16.0
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))

    checkpoint = d.Checkpoint(os.environ["FOLDER"], w=w, optimizer=optimizer, data=data)
    for i in checkpoint.steps(total, every=2):
        strategy.run(replica, args=next(data))
        print(i, flush=True)
    return w.numpy().tobytes().hex()

print(d.run(train), flush=True)
"""


@pytest.mark.parametrize("shards", ["", "yes"])
def test_another_number_of_ranks_goes_on(tmp_path, shards):
    def weights(n: int, folder: str, total: int) -> list[str]:
        env = {"FOLDER": str(tmp_path / folder), "TOTAL": str(total), "SHARDS": shards}
        with Supervised(n, _EXACT, env) as ranks:
            return ranks.await_end()

    expected = weights(1, "undisturbed", 8)
    weights(2, "changing", 2)
    weights(3, "changing", 4)
    weights(1, "changing", 6)
    assert weights(2, "changing", 8) == expected * 2


def test_errors_of_the_program_itself_are_raised_at_once():
    program = """
    import time
    import gyre

    def train():
        gyre.distribute.all_reduce(1.0)
        time.sleep(gyre.cluster.rank())  # the other one is gone by then
        raise gyre.errors.InvalidArgumentError(None, None, "this is wrong everywhere")

    gyre.distribute.run(train)
    """
    with Supervised(2, program) as ranks:
        ranks.await_(lambda: [ranks.code(rank) for rank in range(2)] == [1, 1])
    assert all("this is wrong everywhere" in ranks.errors[rank][-1] for rank in range(2))


_LEAVES = """
import os, sys
import gyre

def train():
    while True:
        gyre.distribute.all_reduce(1.0)
        if gyre.cluster.rank() == 1:
            sys.exit(0)

restarts = int(os.environ["RESTARTS"])
gyre.distribute.run(train, restarts=restarts, join_timeout=1.0)
"""


def test_who_does_not_come_back_is_named():
    with Supervised(2, _LEAVES, {"RESTARTS": "1"}) as ranks:
        ranks.await_(lambda: ranks.code(0) is not None)
    assert ranks.errors[0][0].startswith("gyre: it begins anew, for rank 1 (127.0.0.1")
    assert "there was no rank 1" in ranks.errors[0][-1]


def test_so_many_restarts_at_most():
    with Supervised(2, _LEAVES, {"RESTARTS": "0"}) as ranks:
        ranks.await_(lambda: ranks.code(0) is not None)
    assert "UnavailableError: rank 1 (127.0.0.1" in "\n".join(ranks.errors[0])
    assert not any("it begins anew" in line for line in ranks.errors[0])
