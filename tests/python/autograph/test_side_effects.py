"""Python side effects in traced blocks: they would happen once, while tracing. Each is refused."""

import pytest

import gyre
from refusing import line, refused

TOTAL = 0
SEEN = {}


def test_nonlocal_name_changed_by_an_indirect_call_in_a_loop():
    def f(n):
        total = 0

        def add(k):
            nonlocal total
            total = total + k

        functions = {"add": add}
        for i in range(n):
            functions["add"](i)
        return total

    message = refused(f, 3)
    assert "add" in message and "'total'" in message and line(f, "for i") in message
    assert "assign total in the for loop itself" in message


def test_nonlocal_name_changed_in_a_branch():
    def f(x):
        total = 0

        def add(k):
            nonlocal total
            if k > 5:
                total = total + k

        def again(k):
            add(k)

        if x > 0:
            again(x)
        return total

    message = refused(f, 3)
    assert "'total'" in message and line(f, "if x > 0") in message


def test_nonlocal_name_that_the_loop_itself_assigns():
    @gyre.function
    def f(n):
        total = 0

        def add(k):
            return total + k

        for i in range(n):
            total = add(i)
        return total

    assert int(f(gyre.constant(4))) == 6


def test_global_name_changed_by_a_call():
    def add(k):
        global TOTAL
        TOTAL = TOTAL + k

    def f(n):
        while n > 0:
            add(n)
            n -= 1
        return n

    message = refused(f, 3)
    assert "add" in message and "'TOTAL'" in message and line(f, "while n") in message


@pytest.mark.parametrize("change", ["append", "add", "update", "setdefault"])
def test_containers_of_the_module(change):
    box = {"append": [], "add": set(), "update": {}, "setdefault": {}}[change]

    def f(n):
        for i in range(n):
            if change == "append":
                box.append(i)
            elif change == "add":
                box.add(i)
            elif change == "update":
                box.update(last=i)
            else:
                box.setdefault("first", i)
        return n

    message = refused(f, 3)
    assert f"{change}()" in message or "key of a dict" in message
    assert not box


def test_python_values_may_be_collected():
    seen = []

    @gyre.function
    def f(n):
        for i in range(n):
            seen.append("traced")
            n = n + i * 0
        return n

    assert int(f(gyre.constant(3))) == 3 and seen == ["traced"] * len(seen)
