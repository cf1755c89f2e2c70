"""Random numbers that TensorFlow draws from the same seeds: the numbers here are its own."""

import subprocess
import sys

import numpy as np
import pytest

import gyre

random = gyre.random


def test_a_generator():
    g = random.Generator.from_seed(1234)
    assert g.state.numpy().tolist() == [1234, 0, 0]
    np.testing.assert_array_equal(
        g.normal([3]).numpy(), np.array([0.9356609, 1.0854305, -0.93788373], "float32")
    )
    assert g.state.numpy().tolist() == [2002, 0, 0]
    np.testing.assert_array_equal(
        g.uniform([2, 2]).numpy(),
        np.array([[0.31073415, 0.3681823], [0.96182954, 0.31345785]], "float32"),
    )
    seeds = g.make_seeds(2).numpy()
    assert seeds.tolist() == [[6197651132105268546, 1590359718043125283], [0, 0]]


def test_states():
    assert random.create_rng_state(2**70 + 5, "philox").numpy().tolist() == [5, 64, 0]
    assert random.create_rng_state([1, 2], "philox").numpy().tolist() == [0, 1, 2]
    assert random.create_rng_state(-1, "philox").numpy().tolist() == [-1, -1, -1]
    g = random.Generator.from_key_counter(7, [3, 2**64 - 1], "philox")
    assert g.state.numpy().tolist() == [3, -1, 7] and int(g.key) == 7
    copy = random.Generator(copy_from=g)
    np.testing.assert_array_equal(copy.normal([4]).numpy(), g.normal([4]).numpy())
    g.reset_from_key_counter(7, [3, -1])
    g.skip(2**55)
    assert g.state.numpy().tolist() == [3 - 2**63, -1, 7]
    g.skip(2**55)
    assert g.state.numpy().tolist() == [3, 0, 7]
    assert random.get_global_generator() is random.get_global_generator()
    with pytest.raises(NotImplementedError):
        random.Generator.from_seed(1, alg="threefry")


def test_in_functions_and_gradients():
    g = random.Generator.from_seed(5)
    drawn = gyre.function(lambda: g.normal([2]))
    first, second = drawn().numpy(), drawn().numpy()
    g.reset_from_seed(5)
    np.testing.assert_array_equal(g.normal([2]).numpy(), first)
    np.testing.assert_array_equal(g.normal([2]).numpy(), second)


def test_stateless_numbers():
    assert random.split([1, 2], 2).numpy().tolist() == [
        [1105988140, 1738052849],
        [-335576002, 370444179],
    ]
    assert random.fold_in([1, 2], 3).numpy().tolist() == [1105988140, 3]
    shuffled = random.experimental.stateless_shuffle(gyre.range(10), seed=[1, 2])
    assert shuffled.numpy().tolist() == [0, 3, 8, 1, 5, 4, 9, 7, 6, 2]
    with pytest.raises(ValueError, match="both None or both given"):
        random.stateless_uniform([2], [1, 2], None, 5, dtype="int32")


def test_a_shuffle_has_a_gradient():
    x = gyre.constant([1.0, 2.0, 3.0, 4.0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = random.experimental.stateless_shuffle(x, seed=[3, 4])
        loss = gyre.reduce_sum(y * [1.0, 10.0, 100.0, 1000.0])
    order = [int(v) - 1 for v in y.numpy()]
    weights = dict(zip(order, [1, 10, 100, 1000], strict=True))
    assert tape.gradient(loss, x).numpy().tolist() == [weights[i] for i in range(4)]


def test_truncated_normals_with_parameters():
    draw = random.stateless_parameterized_truncated_normal
    np.testing.assert_array_equal(
        draw([4], [1, 2], 0.0, 1.0, -1.0, 2.0).numpy(),
        np.array([0.5441101, 0.20738031, 0.07356432, 0.04643455], "float32"),
    )
    far = draw([4000], [1, 2], 0.0, 1.0, 3.0, np.float32(np.inf)).numpy()
    assert far.min() >= 3 and abs(far.mean() - 3.2831) < 0.02
    one_sided = draw([4000, 2], [1, 2], [0.0, 5.0], 2.0, -3.0, [-2.0, 30.0]).numpy()
    assert (one_sided[:, 0] <= -2).all() and (one_sided >= -3).all()
    with pytest.raises(gyre.errors.InvalidArgumentError, match="Invalid parameters"):
        draw([4], [1, 2], 0.0, -1.0, 3.0, 4.0)


def test_gamma_has_a_gradient():
    alpha = gyre.constant([0.5, 2.0])
    with gyre.GradientTape() as tape:
        tape.watch(alpha)
        samples = random.stateless_gamma([3, 2], [1, 2], alpha)
    np.testing.assert_allclose(
        tape.gradient(samples, alpha).numpy(), [2.6393623, 3.2333708], rtol=1e-5
    )
    rate = gyre.constant(4.0)
    with gyre.GradientTape() as tape:
        tape.watch(rate)
        mean = gyre.reduce_mean(random.gamma([10], 2.0, rate))
    np.testing.assert_allclose(tape.gradient(mean, rate).numpy(), -float(mean) / 4, rtol=1e-5)


def test_rows_have_truncated_normals_of_their_own():
    drawn = gyre.raw_ops.ParameterizedTruncatedNormal(
        shape=[2, 4000],
        means=[0.0, 10.0],
        stdevs=[1.0, 2.0],
        minvals=[-1.0, 9.0],
        maxvals=[2.0, 30.0],
        seed=1,
    ).numpy()
    assert drawn[0].min() >= -1 and drawn[0].max() <= 2 and abs(drawn[0].mean() - 0.2296) < 0.05
    assert drawn[1].min() >= 9 and abs(drawn[1].mean() - 11.018) < 0.08
    with pytest.raises(gyre.errors.InvalidArgumentError, match="stdevs must be a scalar"):
        gyre.raw_ops.ParameterizedTruncatedNormal(
            shape=[3, 2], means=0.0, stdevs=[1.0, 2.0], minvals=0.0, maxvals=1.0
        )


def test_the_global_generator_beside_handlers_and_forks():
    """A handler may ask for it while it is made, and children of a fork that happens then."""
    program = """
import os, signal, threading
import gyre
from gyre._impl.composed import generator

with generator._lock:  # as while it is made
    held = gyre.random.get_global_generator()
entered, done = threading.Event(), threading.Event()

def hold():
    with generator._lock:
        entered.set()
        done.wait()

threading.Thread(target=hold).start()
entered.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if gyre.random.get_global_generator() is held else 1)
status = os.waitpid(child, 0)[1]
done.set()
print(status)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "0\n", ran.stderr
