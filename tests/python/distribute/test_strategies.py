"""Strategies: the same steps on several replicas leave the variables that one process has with the
whole batch."""

import numpy as np
import pytest

import gyre
from launch import run

# A model whose sums are exact: integers, small enough for a float.
_TRAIN = """
rng = np.random.default_rng(3)
x = rng.integers(-4, 5, [64, 3]).astype(np.float32)
y = (x @ [[1.0], [-2.0], [3.0]]).astype(np.float32)

def train(strategy, steps=8, batch=16):
    with strategy.scope():
        w = gyre.Variable(np.float32([[1.0], [2.0], [3.0]]) * (1.0 + 7 * gyre.cluster.rank()))
        optimizer = gyre.optimizers.SGD(2.0**-9)

    def step(x, y):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_sum((x @ w - y) ** 2) / batch
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
        return loss

    @gyre.function
    def distributed(x, y):
        return strategy.reduce("SUM", strategy.run(step, args=(x, y)))

    data = gyre.data.Dataset.from_tensor_slices((x, y)).batch(batch).repeat(2)
    losses = [
        distributed(*rows).numpy() for rows in strategy.experimental_distribute_dataset(data)
    ]
    return w, optimizer, losses
"""


def test_two_workers_have_the_weights_of_one_bit_for_bit():
    one = run(1, _TRAIN + "print(train(d.get_strategy())[0].numpy().tobytes().hex())")
    two = run(
        2,
        _TRAIN
        + """
strategy = d.MultiWorkerMirroredStrategy()
assert strategy.num_replicas_in_sync == 2
w, optimizer, losses = train(strategy)
assert optimizer.iterations.numpy() == 8 and losses[-1] < losses[0]
print(w.numpy().tobytes().hex())
""",
    )
    assert two == one * 2


def test_a_whole_epoch_in_one_run():
    out = run(
        2,
        _TRAIN
        + """
strategy = d.MultiWorkerMirroredStrategy()
with strategy.scope():
    w = gyre.Variable(np.ones([3, 1], np.float32) + rank)
    optimizer = gyre.optimizers.SGD(2.0**-9)

def step(x, y):
    with gyre.GradientTape() as tape:
        loss = gyre.reduce_sum((x @ w - y) ** 2) / 16
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss

@gyre.function
def epoch(data):
    total = 0.0
    for x, y in data:
        total += strategy.reduce(d.ReduceOp.SUM, strategy.run(step, args=(x, y)))
    return total

data = gyre.data.Dataset.from_tensor_slices((x, y)).batch(16)
data = strategy.experimental_distribute_dataset(data)
first = epoch(data).numpy()
for _ in range(30):
    last = epoch(data).numpy()
assert last < first / 100
print(w.numpy().tobytes().hex())
""",
    )
    assert out[0] == out[1]


def test_what_replicas_see_of_each_other():
    run(
        2,
        """
        strategy = d.MultiWorkerMirroredStrategy()
        assert not d.in_cross_replica_context() and not d.has_strategy()
        with strategy.scope():
            assert d.has_strategy() and d.in_cross_replica_context()
            assert d.get_strategy() is strategy and d.get_replica_context() is None
            v = gyre.Variable(lambda: gyre.constant([1.0, rank]))
        assert v.numpy().tolist() == [1, 0]

        def replica(x, scale=1.0):
            context = d.get_replica_context()
            assert context.replica_id_in_sync_group == rank
            assert context.num_replicas_in_sync == 2
            assert context.strategy is strategy and not d.in_cross_replica_context()
            many = context.all_reduce("sum", {"a": x, "b": [x * 2, gyre.constant(1 + rank)]})
            assert many["a"].numpy() == 3 and many["b"][0].numpy() == 6
            assert many["b"][1].numpy() == 3
            assert context.all_reduce(d.ReduceOp.MEAN, x).numpy() == 1.5
            rows = context.all_gather(gyre.reshape(x, [1, 1]), axis=1)
            assert rows.numpy().tolist() == [[1, 2]]
            merged = context.merge_call(
                lambda s, x, y: (s is strategy and d.in_cross_replica_context(), x + y),
                args=(x,), kwargs={"y": 1.0},
            )
            assert merged[0] and merged[1].numpy() == x.numpy() + 1
            return gyre.reshape(x * scale, [1])

        x = strategy.run(replica, args=(gyre.constant(1.0 + rank),), kwargs={"scale": 10.0})
        assert strategy.experimental_local_results(x) == (x,)
        assert strategy.reduce("SUM", x).numpy().tolist() == [30]
        assert strategy.reduce("MEAN", x, axis=0).numpy() == 15
        uneven = gyre.constant([[1.0], [2.0], [6.0]][: 1 + 2 * rank])
        assert strategy.reduce("MEAN", uneven, axis=0).numpy().tolist() == [2.5]
        assert strategy.gather(x, axis=0).numpy().tolist() == [10, 20]

        made = strategy.distribute_datasets_from_function(
            lambda c: gyre.data.Dataset.range(8)
            .shard(c.num_input_pipelines, c.input_pipeline_id)
            .batch(c.get_per_replica_batch_size(4))
        )
        assert [b.numpy().tolist() for b in made] == [[rank, rank + 2], [rank + 4, rank + 6]]
        """,
    )


def test_small_tensors_go_together():
    run(
        2,
        """
        from gyre._impl.distribute.reducing import all_reduce_all
        values = [np.full([3, i], 1 + rank, np.float32) for i in range(5)]
        values += [np.float64(7), np.full(100_000, rank, np.float32), np.int32([1, 2])]

        @gyre.function
        def together(values):
            return all_reduce_all(list(values), "sum")

        expected = [np.full([3, i], 3, np.float32) for i in range(5)]
        expected += [np.float64(14), np.full(100_000, 1, np.float32), np.int32([2, 4])]
        for got, want in zip(together(values), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        """,
    )


@pytest.fixture
def two_devices():
    devices = gyre.config.list_physical_devices("CPU")
    gyre.config.set_logical_device_configuration(
        devices[0], [gyre.config.LogicalDeviceConfiguration()] * 2
    )
    yield
    gyre.config.set_logical_device_configuration(
        devices[0], [gyre.config.LogicalDeviceConfiguration()]
    )


def _training():
    names = {"np": np, "gyre": gyre}
    source = _TRAIN.replace("@gyre.function\n", "@gyre.function(autograph=False)\n")
    exec(source, names)
    return names["train"]


def test_replicas_of_one_process_have_the_weights_of_one(two_devices):
    alone, _, losses = _training()(gyre.distribute.get_strategy())
    mirrored, optimizer, others = _training()(gyre.distribute.MirroredStrategy())
    assert mirrored.numpy().tolist() == alone.numpy().tolist()
    assert optimizer.iterations.numpy() == 8
    np.testing.assert_allclose(others, losses, rtol=1e-6)  # their sums are rounded


def test_replicas_of_one_process_take_turns(two_devices):
    strategy = gyre.distribute.MirroredStrategy()
    assert strategy.num_replicas_in_sync == 2
    seen = []

    def replica(x):
        context = gyre.distribute.get_replica_context()
        i = context.replica_id_in_sync_group
        seen.append(("before", i))
        total = context.all_reduce("sum", x)
        seen.append(("after", i))
        return total, x * 2

    def both(x, y):
        return strategy.run(replica, args=(gyre.distribute.DistributedValues((x, y)),))

    for way in (both, gyre.function(both)):
        seen.clear()
        total, twice = way(gyre.constant(1.0), gyre.constant(2.0))
        assert [v.numpy() for v in strategy.experimental_local_results(total)] == [3, 3]
        assert [v.numpy() for v in twice.values] == [2, 4]
        assert seen == [("before", 0), ("before", 1), ("after", 0), ("after", 1)]
        assert strategy.reduce("MEAN", twice).numpy() == 3


def test_an_error_of_one_replica_ends_all(two_devices):
    strategy = gyre.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def replica():
        context = gyre.distribute.get_replica_context()
        if context.replica_id_in_sync_group == 1:
            raise KeyError("only here")
        return context.all_reduce("sum", gyre.constant(1.0))

    with pytest.raises(KeyError, match="only here"):
        strategy.run(replica)

    def uneven():
        context = gyre.distribute.get_replica_context()
        if context.replica_id_in_sync_group == 0:
            return context.all_reduce("sum", gyre.constant(1.0))
        return gyre.constant(1.0)

    with pytest.raises(RuntimeError, match="some replicas call merge_call"):
        strategy.run(uneven)


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match=r"gyre\.cluster\.detect"):
        gyre.distribute.MultiWorkerMirroredStrategy(cluster_resolver=object())
    with pytest.raises(ValueError, match="needs a device"):
        gyre.distribute.MirroredStrategy([])
    with pytest.raises(ValueError, match=r"ReduceOp\.SUM or ReduceOp\.MEAN, not 'max'"):
        gyre.distribute.get_strategy().reduce("max", 1.0)
    with pytest.raises(ValueError, match="is not divisible"):
        gyre.distribute.InputContext(num_replicas_in_sync=3).get_per_replica_batch_size(4)


def test_one_replica_is_the_program_itself():
    for strategy in (
        gyre.distribute.Strategy(),
        gyre.distribute.OneDeviceStrategy("/cpu:0"),
        gyre.distribute.MirroredStrategy(),
        gyre.distribute.MultiWorkerMirroredStrategy(),
    ):
        assert strategy.num_replicas_in_sync == 1
        with strategy.scope():
            v = gyre.Variable(3.0)
        assert strategy.run(lambda x: x * v, args=(gyre.constant(2.0),)).numpy() == 6
        assert strategy.reduce("SUM", gyre.constant([1.0, 2.0]), axis=0).numpy() == 3
        data = gyre.data.Dataset.range(2)
        assert strategy.experimental_distribute_dataset(data) is data
    assert gyre.distribute.get_replica_context().all_reduce("mean", 2.0).numpy() == 2
