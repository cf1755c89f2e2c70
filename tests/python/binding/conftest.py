"""Errors of the core as one exception that tests can look into, whatever the package sets."""

import pytest

from gyre import _gyre


class CoreError(Exception):
    def __init__(self, code, message, system_error):
        super().__init__(message)
        self.code = code


@pytest.fixture(autouse=True)
def core_error():
    before = _gyre.set_error_factory(CoreError)
    yield CoreError
    _gyre.set_error_factory(before)
