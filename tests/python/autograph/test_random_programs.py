"""Random programs mean the same traced as they do run by Python."""

import contextlib
import linecache

import numpy as np
import pytest

import gyre
from random_programs import Held, program

ARGUMENTS = [(3, 2), (0, 5), (-4, 1), (7, 7)]


def made(seed):
    source, file = program(seed), f"<program {seed}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope = {"contextlib": contextlib, "Held": Held}
    exec(compile(source, file, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("seed", range(150))
def test_random_program(seed):
    function = made(seed)
    traced = gyre.function(function)
    for arguments in ARGUMENTS:
        expected = function(*arguments)
        found = traced(*(gyre.constant(argument) for argument in arguments))
        assert [int(np.asarray(value)) for value in found] == list(expected), program(seed)
