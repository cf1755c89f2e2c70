"""Each collective among two to four ranks: eagerly, in functions, in loops and conditionals."""

import pytest

from launch import run


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_each_collective(n, transport):
    run(
        n,
        """
        x = np.arange(4 * size, dtype=np.float32).reshape(2 * size, 2) + 100 * rank
        everybody = [x - 100 * rank + 100 * i for i in range(size)]
        total = sum(everybody)
        np.testing.assert_array_equal(d.all_reduce(x), total)
        np.testing.assert_array_equal(d.all_reduce(x, "mean"), total / np.float32(size))
        np.testing.assert_array_equal(d.all_reduce(x, "min"), everybody[0])
        np.testing.assert_array_equal(d.all_reduce(x, "max"), everybody[-1])
        np.testing.assert_array_equal(d.all_reduce(x, "prod"), np.prod(everybody, axis=0))
        np.testing.assert_array_equal(d.reduce_scatter(x), total[2 * rank : 2 * rank + 2])
        np.testing.assert_array_equal(d.all_gather(x), np.concatenate(everybody))
        np.testing.assert_array_equal(
            d.all_to_all(x), np.concatenate([e[2 * rank : 2 * rank + 2] for e in everybody])
        )
        for root in range(size):
            np.testing.assert_array_equal(d.broadcast(x, root), everybody[root])
        d.barrier()
        """,
        options=f"transport={transport!r}",
    )


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_all_sizes_have_the_same_bits_on_all_ranks(transport):
    out = run(
        3,
        """
        import zlib
        for elements in (0, 1, 3, 1000, 2048, 2049, 32768, 32769, 100_003, 3_000_001):
            x = np.random.default_rng([rank, elements]).standard_normal(elements).astype(np.float32)
            y = d.all_reduce(x).numpy()
            expected = sum(
                np.random.default_rng([i, elements]).standard_normal(elements).astype(np.float32)
                for i in range(size)
            )
            np.testing.assert_array_equal(y, expected)  # in the order of the ranks
            rows = np.repeat(x[:, None], 3, axis=1)
            np.testing.assert_array_equal(d.reduce_scatter(np.tile(x, 3)).numpy(), y)
            gathered = d.all_gather(x).numpy().reshape(3, elements)
            np.testing.assert_array_equal(gathered[rank], x)
            np.testing.assert_array_equal(d.broadcast(x, 1).numpy(), gathered[1])
            exchanged = d.all_to_all(np.concatenate([x, x + 1, x + 2])).numpy()
            np.testing.assert_array_equal(exchanged.reshape(3, elements), gathered + rank)
            print(zlib.crc32(y.tobytes()))
        """,
        options=f"transport={transport!r}",
    )
    assert out[0] == out[1] == out[2]


def test_all_types():
    run(
        2,
        """
        for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "int64"):
            x = gyre.cast(gyre.constant([1.0, -2.0, 3.0]) * (1.0 + rank), dtype)
            expected = {
                "sum": [3, -6, 9], "mean": [1.5, -3, 4.5], "prod": [2, 8, 18],
                "min": [1, -4, 3], "max": [2, -2, 6],
            }
            for op, values in expected.items():
                got = d.all_reduce(x, op)
                assert got.dtype == x.dtype
                want = gyre.cast(values, dtype)
                np.testing.assert_array_equal(gyre.cast(got, "float64"), gyre.cast(want, "float64"))
        np.testing.assert_array_equal(d.broadcast([rank == 1, True], 1), [True, True])
        assert d.all_reduce(2.0 + rank).numpy() == 5.0
        """,
    )


def test_conditionals_and_loops_whose_iterations_overlap():
    run(
        2,
        """
        @gyre.function
        def f(n, x):
            total = gyre.zeros_like(x)
            for i in gyre.range(n):
                y = x * gyre.cast(i, x.dtype) + gyre.cast(rank, x.dtype)
                if i % 3 == 0:
                    total += d.all_reduce(y)
                else:
                    total -= d.all_reduce(y, "max")
            return total

        expected = np.zeros(3, np.float32)
        for i in range(50):
            y = np.float32([1, 2, 3]) * i
            expected = expected + (y + (y + 1)) if i % 3 == 0 else expected - (y + 1)
        for _ in range(20):
            np.testing.assert_array_equal(f(50, np.float32([1, 2, 3])), expected)

        # Nothing orders these: up to ten iterations are underway at once.
        def body(i, held):
            time.sleep(0)
            return i + 1, held.write(i, d.all_reduce(gyre.cast(i, "float32") * (1.0 + rank)))

        @gyre.function
        def many(n):
            held = gyre.TensorArray("float32", size=n)
            _, held = gyre.while_loop(lambda i, _: i < n, body, [0, held])
            return held.stack()

        np.testing.assert_array_equal(many(300), 3 * np.arange(300, dtype=np.float32))
        """,
    )


def test_whole_training_steps_in_a_loop_of_the_graph():
    out = run(
        2,
        """
        rng = np.random.default_rng(7)
        x = rng.standard_normal((40, 3)).astype(np.float32)
        y = (x @ [[1.0], [-2.0], [0.5]]).astype(np.float32)
        mine = slice(20 * rank, 20 * rank + 20)

        @gyre.function
        def train(x, y, w, steps):
            for _ in gyre.range(steps):
                with gyre.GradientTape() as tape:
                    tape.watch(w)
                    loss = gyre.reduce_mean((x @ w - y) ** 2)
                w = w - 0.1 * d.all_reduce(tape.gradient(loss, w), "mean")
            return w

        w = train(x[mine], y[mine], gyre.zeros([3, 1]), 100)
        alone = np.zeros((3, 1), np.float32)
        for _ in range(100):
            halves = [
                2 / np.float32(20) * x[h].T @ (x[h] @ alone - y[h])
                for h in (slice(0, 20), slice(20, 40))
            ]
            alone = alone - np.float32(0.1) * (halves[0] + halves[1]) / np.float32(2)
        np.testing.assert_allclose(w, alone, rtol=1e-5)
        np.testing.assert_allclose(w, [[1.0], [-2.0], [0.5]], atol=1e-3)
        print(w.numpy().tobytes().hex())
        """,
    )
    assert out[0] == out[1]


def test_sessions_of_older_programs():
    run(
        2,
        """
        import gyre.compat.v1 as tf

        with tf.Graph().as_default():
            x = tf.placeholder("float32", [2])
            first, second = d.all_reduce(x), d.all_reduce(x * 2, "max")
            gradient, = tf.gradients(first * second, [x])
            unrelated = x + 1
            with tf.Session() as session:
                feed = {x: [1.0 + rank, 2.0]}
                if rank == 0:  # a run without collectives counts for nobody
                    session.run(unrelated, feed)
                for _ in range(50):
                    a, b, g = session.run([first, second, gradient], feed)
                    np.testing.assert_array_equal(a, [3, 4])
                    np.testing.assert_array_equal(b, [4, 4])
                    half = np.float32([2 * 3 * 2, 2 * 4 * 2 / 2])
                    np.testing.assert_array_equal(g, np.float32([4, 4]) * 2 + half * [rank, 1])
        """,
    )


def test_groups_of_some_ranks_and_broadcasts_of_older_programs():
    run(
        4,
        """
        raw = gyre.raw_ops
        communicator = raw.CollectiveInitializeCommunicator(
            group_key=9, rank=rank, group_size=4
        )
        pairs = [[0, 2], [3, 1]]

        @gyre.function
        def f(x):
            for _ in gyre.range(3):
                x = raw.CollectiveReduceV3(
                    input=x, communicator=communicator, group_assignment=pairs, reduction="Add"
                )
            return raw.CollectiveAllToAllV3(
                input=x + rank, communicator=communicator, group_assignment=pairs
            )

        x = gyre.constant([1.0 + rank, 10.0 + rank])
        total = {0: [4, 22], 2: [4, 22], 1: [6, 24], 3: [6, 24]}[rank]
        total = 4 * np.float32(total)  # three times
        first, second = {0: (0, 2), 2: (0, 2), 3: (3, 1), 1: (3, 1)}[rank]
        column = {0: 0, 2: 1, 3: 0, 1: 1}[rank]
        want = [total[column] + first, total[column] + second]
        np.testing.assert_array_equal(f(x), want)

        keys = dict(group_size=4, group_key=1, instance_key=5)
        if rank == 2:
            got = raw.CollectiveBcastSendV2(input=x, **keys)
        else:
            got = raw.CollectiveBcastRecvV2(shape=[2], T="float32", **keys)
        np.testing.assert_array_equal(got, [3, 12])
        """,
    )


def test_alone_everything_is_what_it_was():
    import gyre
    from gyre import distribute

    x = gyre.constant([[1.0, 2.0], [3.0, 4.0]])
    for got in (
        distribute.all_reduce(x),
        distribute.all_reduce(x, "mean"),
        distribute.reduce_scatter(x),
        distribute.all_gather(x),
        distribute.all_to_all(x),
        distribute.broadcast(x),
    ):
        assert got.numpy().tolist() == x.numpy().tolist()
    distribute.barrier()
    assert (gyre.cluster.rank(), gyre.cluster.size()) == (0, 1)
    with pytest.raises(ValueError, match="op is one of sum, mean, prod, min, max, not 'median'"):
        distribute.all_reduce(x, "median")
