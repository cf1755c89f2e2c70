"""Programs that are shown."""

import gyre


@gyre.function
def branching(x, n):
    """A cond in a while, with a loop in it."""
    s = x
    i = gyre.constant(0)
    while i < n:
        if gyre.reduce_sum(s) > 100.0:
            s = s * 0.5
        else:
            s = s * s + 1.0
            for k in gyre.range(i):
                s -= gyre.cast(k, "float32")
        i += 1
    return s


@gyre.function
def gradient(x, n):
    """Its gradient."""
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.reduce_sum(branching(x, n))
    return y, tape.gradient(y, x)


@gyre.function
def fibonacci(n):
    """Recursion."""
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@gyre.function
def choosing(i, xs):
    """A case with three branches, over a map."""
    ys = gyre.map_fn(lambda x: x + 1.0, xs)
    return gyre.switch_case(i, [lambda: ys * 2.0, lambda: ys - 1.0, lambda: gyre.sin(ys)])


@gyre.function
def long(x):
    """A thousand nodes."""
    for i in range(500):
        x = gyre.sin(x) if i % 3 else gyre.cos(x) + x
        x = gyre.tanh(x)
    return x


def example():
    """Arguments of `branching` and `gradient`: the while goes round 7 times."""
    return gyre.constant([1.0, 2.0]), gyre.constant(7)
