"""Gradients through collectives, beside differences: of the sum of all ranks' losses, by what each
rank brings."""

import pytest

from launch import run

# A function of what all ranks bring, in numpy, and the collective, of one rank's.
_OPS = {
    "sum": ("[sum(xs)] * n", "d.all_reduce(x)"),
    "mean": ("[sum(xs) / n] * n", "d.all_reduce(x, 'mean')"),
    "prod": ("[np.prod(xs, axis=0)] * n", "d.all_reduce(x, 'prod')"),
    "min": ("[np.min(xs, axis=0)] * n", "d.all_reduce(x, 'min')"),
    "max": ("[np.max(xs, axis=0)] * n", "d.all_reduce(x, 'max')"),
    "scatter": ("np.split(sum(xs), n)", "d.reduce_scatter(x)"),
    "scatter_mean": ("np.split(sum(xs) / n, n)", "d.reduce_scatter(x, 'mean')"),
    "gather": ("[np.concatenate(xs)] * n", "d.all_gather(x)"),
    "to_all": (
        "[np.concatenate([np.split(x, n)[r] for x in xs]) for r in range(n)]",
        "d.all_to_all(x)",
    ),
    "root": ("[xs[1]] * n", "d.broadcast(x, 1)"),
}

_CHECK = """
n = size
xs = [np.random.default_rng([7, i]).uniform(0.5, 2.0, [2 * n, 3]) for i in range(n)]

def loss_of(ys):
    return sum(np.sum(np.sin(y + r) * y) for r, y in enumerate(ys))

def by_differences(f):
    slope = np.zeros_like(xs[rank])
    for at in np.ndindex(slope.shape):
        for step in (1e-6, -1e-6):
            moved = [x.copy() for x in xs]
            moved[rank][at] += step
            slope[at] += loss_of(f(moved)) / (2 * step)
    return slope

def check(f, collective):
    expected = by_differences(f)

    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = collective(x)
            loss = gyre.reduce_sum(gyre.sin(y + float(rank)) * y)
        return tape.gradient(loss, x)

    for way in (slope, gyre.function(slope)):
        np.testing.assert_allclose(way(gyre.constant(xs[rank])), expected, rtol=1e-6, atol=1e-6)
"""


@pytest.mark.parametrize("n", [2, 3])
def test_first_derivatives(n):
    checks = [f"check(lambda xs: {f}, lambda x: {op})" for f, op in _OPS.values()]
    run(n, _CHECK + "\n".join(checks))


def test_products_with_zeros():
    run(
        3,
        """
        x = gyre.constant(np.float32([[1, 0, 0], [2, 3, 0], [4, 5, 6]])[rank])
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.reduce_sum(d.all_reduce(x, "prod") * gyre.constant([1.0, 10.0, 100.0]))
        slope = np.float32([[8, 150, 0], [4, 0, 0], [2, 0, 0]][rank]) * 3
        np.testing.assert_array_equal(tape.gradient(y, x), slope)
        """,
    )


def test_extremes_that_ranks_share():
    run(
        2,
        """
        x = gyre.constant([1.0, 2.0 + rank])
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.reduce_sum(d.all_reduce(x, "max"))
        np.testing.assert_array_equal(tape.gradient(y, x), [1.0, 2.0 * rank])
        """,
    )


def test_second_derivatives_and_loops():
    run(
        2,
        """
        @gyre.function
        def cubes(x, n):
            for i in gyre.range(n):
                x = d.all_reduce(x * x, "mean")
            return x

        x = gyre.constant(1.5)  # the same on both: as if there were one
        with gyre.GradientTape() as outer:
            outer.watch(x)
            with gyre.GradientTape() as inner:
                inner.watch(x)
                y = cubes(x, 3)
            first = inner.gradient(y, x)
        assert y.numpy() == np.float32(1.5) ** 8
        np.testing.assert_allclose(first, 8 * 1.5**7, rtol=1e-6)
        np.testing.assert_allclose(outer.gradient(first, x), 56 * 1.5**6, rtol=1e-5)
        """,
    )
