"""What gradients of functions keep: policies of loops, recompute_grad;
and that they change no value."""

import numpy as np
import pytest

import gyre
from gyre import data

POLICIES = ["recompute(3)", "checkpoint(20000)"]


def gradients_and_peak(step, memory, *args):
    """Of gyre.function(step, memory) with seed 5: the results, and the most bytes of a run."""
    gyre.random.set_seed(5)
    function = gyre.function(step, memory=memory)
    results, told = function.get_concrete_function(*args).run_with_options(list(args), trace=True)
    return [np.asarray(r) for r in results], told["peak_bytes"]


def same_for_less(step, *args):
    want, most = gradients_and_peak(step, "save", *args)
    for memory in POLICIES:
        got, peak = gradients_and_peak(step, memory, *args)
        assert [g.tobytes() for g in got] == [w.tobytes() for w in want], memory
        assert peak < most / 2, memory


def weights():
    return gyre.Variable(np.linspace(-0.5, 0.5, 1024, dtype=np.float32).reshape(32, 32))


X = gyre.constant(np.linspace(0, 1, 1024, dtype=np.float32).reshape(32, 32))


def test_a_loop_that_reads_a_variable():
    w = weights()

    def step(x):
        with gyre.GradientTape() as tape:
            for _ in gyre.range(200):  # of many, a third is far less than a half, whoever is ahead
                x = gyre.tanh(gyre.matmul(x, w) + 0.1)
            loss = gyre.reduce_sum(x)
        return tape.gradient(loss, [w])

    same_for_less(step, X)


def test_a_loop_over_a_dataset():
    w, b = weights(), gyre.Variable(np.zeros(32, np.float32))
    rows = data.Dataset.from_tensor_slices(np.linspace(0, 1, 200, dtype=np.float32))

    def step(x):
        with gyre.GradientTape() as tape:
            for row in rows:
                x = gyre.tanh(gyre.matmul(x, w) + b * row)
            loss = gyre.reduce_sum(x)
        return tape.gradient(loss, [w, b])

    same_for_less(step, X)


def test_dropout_and_a_count_in_a_loop():
    w, count = weights(), gyre.Variable(0)

    def step(x):
        with gyre.GradientTape() as tape:
            for _ in gyre.range(60):
                x = gyre.tanh(gyre.matmul(gyre.tanh(gyre.sin(x)), w)) * 1.5
                x = gyre.sin(x * gyre.nn.dropout(gyre.ones([1, 32]), 0.2))
                count.assign_add(1)
            loss = gyre.reduce_sum(x)
        return tape.gradient(loss, [w])

    same_for_less(step, X)
    assert int(count) == 60 * (1 + len(POLICIES))


def test_a_cell_in_scan_and_its_optimizer_in_a_loop():
    def trained(inside):
        w, b = gyre.Variable([0.5, -0.25, 0.125]), gyre.Variable(0.25)
        optimizer = gyre.optimizers.SGD(0.1)
        rows = gyre.constant([[0.5, 1.0, -1.0], [0.25, 0.5, 2.0]])

        def loss(scale):
            states = gyre.scan(
                lambda state, row: gyre.tanh(state * w + row * b), rows, initializer=rows[0] * scale
            )
            more = gyre.while_loop(
                lambda i, x: i < 2, lambda i, x: (i + 1, gyre.sin(x * b)), [gyre.constant(0), scale]
            )[1]
            return gyre.reduce_sum(states) + gyre.cond(more > 0, lambda: more * b, lambda: more)

        def one(scale):
            optimizer.minimize(lambda: loss(scale), [w, b])

        @gyre.function
        def all_of_them(n):
            for i in gyre.range(n):
                if i % 2 == 0:
                    one(gyre.cast(i, gyre.float32))

        if inside:
            all_of_them(gyre.constant(5))
        else:
            step = gyre.function(one)
            for i in (0, 2, 4):
                step(gyre.constant(float(i)))
        return w.numpy(), b.numpy()

    w, b = trained(inside=True)
    w_outside, b_outside = trained(inside=False)
    assert not np.array_equal(w, [0.5, -0.25, 0.125])
    assert np.array_equal(w, w_outside) and b == b_outside


@pytest.mark.parametrize("draws", [False, True])
def test_recompute_grad_in_a_function_keeps_nothing_of_it(draws):
    def of(again):
        w, calls = weights(), gyre.Variable(0)

        def block(x):
            calls.assign_add(1)
            for _ in range(10):
                x = gyre.sin(gyre.tanh(gyre.matmul(x, w)) * 1.5)
            return x * gyre.nn.dropout(gyre.ones([1, 32]), 0.5) if draws else x

        run = gyre.recompute_grad(block) if again else block

        def step(x):
            with gyre.GradientTape() as tape:
                y = run(run(run(run(x))))
            # What random numbers the blocks have drawn shows in y.
            return [y, *tape.gradient(y, [w])]

        results, peak = gradients_and_peak(step, "save", X)
        return results, peak, int(calls)

    (_, plain), plain_peak, calls = of(again=False)
    (_, recomputed), peak, calls_again = of(again=True)
    assert calls == calls_again == 4
    assert peak < plain_peak / 2
    if not draws:
        assert np.array_equal(plain, recomputed)


def step_through_a_function(**options):
    """The gradient of a loop of 60 iterations, which stands in a function with these options."""
    w = weights()

    @gyre.function(**options)
    def loss_of(x):
        for _ in gyre.range(60):
            x = gyre.tanh(gyre.matmul(x, w) + 0.1)
        return gyre.reduce_sum(x)

    def step(x):
        with gyre.GradientTape() as tape:
            loss = loss_of(x)
        return tape.gradient(loss, [w])

    return step


def test_a_functions_own_policy_counts_where_another_calls_it():
    def peak(memory):
        return gradients_and_peak(step_through_a_function(memory=memory), None, X)[1]

    assert peak("recompute(8)") < peak("save") / 2


def test_a_functions_policy_is_not_that_of_what_is_traced_out_of_it():
    step = step_through_a_function()

    @gyre.function(memory="recompute(8)")
    def around(x):
        with gyre.init_scope():
            function.get_concrete_function(X)
        return x

    function = gyre.function(step)
    around(gyre.constant(1.0))
    _, told = function.get_concrete_function(X).run_with_options([X], trace=True)
    assert told["peak_bytes"] > gradients_and_peak(step, "recompute(8)", X)[1] * 2


def test_bits_do_not_depend_on_where_constants_stand_in_a_body():
    # Adjoints of `a` from three uses, of which the first beside a constant of the body: the order
    # of their sum must be one and the same in the body and in its copies that run again.
    def step(a, b, w):
        with gyre.GradientTape() as tape:
            tape.watch(a)
            for _ in gyre.range(3):
                b = gyre.tanh(w - gyre.maximum(b, a - 0.37))
                w = b + gyre.sin(a)
                w = w * w + (a - 0.3 * b)
            y = b + w
        return tape.gradient(y, a)

    functions = {m: gyre.function(step, memory=m) for m in ("save", "recompute(2)", *POLICIES)}
    draw = np.random.default_rng(5)
    for _ in range(40):
        args = [gyre.constant(x, gyre.float64) for x in draw.uniform(-1.5, 1.5, 3)]
        found = {m: float(f(*args)) for m, f in functions.items()}
        assert set(found.values()) == {found["save"]}, found


@pytest.mark.parametrize("memory", ["checkpoint(1)", "checkpoint(300)", "recompute(3)"])
@pytest.mark.parametrize("n", [20, 33, 50])
def test_second_derivatives_through_an_array_are_those_of_save(memory, n):
    def second(x, n):
        with gyre.GradientTape() as outer:
            outer.watch(x)
            with gyre.GradientTape() as inner:
                inner.watch(x)
                y = x
                array = gyre.TensorArray(gyre.float64, size=n)
                for i in gyre.range(n):
                    y = gyre.sin(y)
                    array = array.write(i, y)
                loss = gyre.reduce_sum(array.stack())
            slope = inner.gradient(loss, x)
        return outer.gradient(slope, x)

    x, n = gyre.constant(0.3, gyre.float64), gyre.constant(n)
    wanted = gyre.function(second)(x, n).numpy()
    np.testing.assert_allclose(gyre.function(second, memory=memory)(x, n), wanted, rtol=1e-12)
