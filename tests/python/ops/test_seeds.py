"""Seeds: which there are, and that they hold from process to process."""

import subprocess
import sys

import pytest

import gyre


@pytest.mark.parametrize(
    "program",
    [
        "gyre.random.set_seed(0); print(gyre.random.normal([3]))",
        "print(gyre.random.uniform([3], seed=0))",
        "print([int(x) for x in gyre.data.Dataset.range(9).shuffle(9, seed=0)])",
    ],
)
def test_a_seed_of_zero_is_a_seed(program):
    drawn = {
        subprocess.run(
            [sys.executable, "-c", f"import gyre; {program}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(3)
    }
    assert len(drawn) == 1, drawn


@pytest.mark.parametrize("seed", ["1", 1.5, True])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(TypeError, match="set_seed needs a whole number"):
        gyre.random.set_seed(seed)
