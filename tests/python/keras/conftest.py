"""Tests of Keras on Gyre. Without Keras they are skipped."""

import importlib.util
from pathlib import Path

import pytest


def is_installed():
    """Whether the package is there. (This folder is found under its name, too, but has no file.)"""
    found = importlib.util.find_spec("keras")
    return found is not None and found.origin is not None


def pytest_collection_modifyitems(items):
    if is_installed():
        return
    reason = "Keras is not installed: pip install 'gyre[keras]'"
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def keras():
    """The package, with the same random numbers for each test."""
    import gyre

    gyre.keras.utils.set_random_seed(7)
    return gyre.keras
