"""Two workers of two devices each, which the tests of a file share.
(Each test's names are its own.)"""

import pytest

import gyre


@pytest.fixture(scope="module")
def workers():
    """Processes, which end with the file's tests."""
    with gyre.cluster.start_workers(2, devices_per_worker=2, failure_timeout=5) as started:
        yield started


@pytest.fixture
def cluster(workers):
    """A connection to them; sessions on it have variables of their own."""
    return workers.connect()
