"""docs/compatibility.md tells the truth: what it calls here is here, what it refuses is not."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "project"))

import compatibility as table

ROWS = table.rows()


def test_the_page_is_what_the_table_says():
    assert table.PAGE.read_text() == table.page(ROWS), "./dev docs makes it"


def test_every_name_is_here_and_tested_or_has_a_reason():
    assert [row.name for row in ROWS if row.here and row.test is None] == []
    assert [row.name for row in ROWS if not row.here and row.why is None] == []


def test_reasons_are_of_names_that_are_not_here():
    assert [name for name in table.REASONS if table.resolves(name)] == []


def test_differences_are_of_names_that_are_here():
    assert [name for name in table.DIFFERENCES if not table.resolves(name)] == []


def test_tests_are_found_by_use():
    (row,) = [row for row in ROWS if row.name == "tf.foldl"]
    assert row.counts and "tests/" in row.test
    assert table.tested(["tf.no_such_name"]) == {}


@pytest.mark.parametrize(
    "name,here",
    [
        ("tf.while_loop", True),
        ("tf.no_such_name", False),
        ("Tensor.shape", True),
        ("Tensor.no_such", False),
    ],
)
def test_resolving(name, here):
    assert table.resolves(name) is here
