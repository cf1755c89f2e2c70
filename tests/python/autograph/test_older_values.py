"""Containers and iterators of Python that are older than a traced block: what it does to them in a
way that the graph does not have is refused, as it would happen once, while tracing."""

import array
import bisect
import collections
import contextvars
import heapq
import io
import itertools
import random

import numpy as np
import pytest

import gyre
from refusing import line, refused

# ---- Containers of which a run decides which they are


def chosen_by_if(x):
    p, q = [x], [x * 2]
    c = p
    if x > 2:
        c = q
    c[0] = c[0] + 100  # written
    return p[0], q[0]


def chosen_dict(x):
    p, q = {"x": x}, {"x": x * 2}
    c = p if x > 2 else q
    c["x"] = c["x"] + 100  # written
    return p["x"], q["x"]


def chosen_by_a_function(x):
    p, q = [x], [x * 2]

    def pick():
        if x > 2:
            return p
        return q

    c = pick()
    c.append(x)  # written
    return len(p), len(q)


def chosen_of_a_tuple(x):
    p, q = [x], [x * 2]
    c, d = (p, q) if x > 2 else (q, p)
    c += [x]  # written
    return len(p), len(q), d


def chosen_and_written_in_a_loop(x):
    p, q = [x], [x * 2]
    c = p if x > 2 else q
    while x > 0:
        c[0] = c[0] + 1  # written
        x -= 1
    return p[0], q[0]


def kept_or_made_anew(x):
    p = [x]
    c = p
    if x > 2:
        c = [x]
    c[0] = c[0] + 1  # written
    return p[0]


def compared(x):
    p, c = [x], [x * 2]
    if x > 2:
        c = p
    return 1 if c is p else 2  # written


def chosen_and_appended_to_in_a_loop(x):
    p, q = [x], [x * 2]
    c = p if x > 2 else q
    while x > 0:
        c.append(x)  # written
        x -= 1
    return len(p), len(q)


def made_anew_in_a_loop(x):
    p = [x]
    c = p
    while x > 2:
        c = [c[0] + 1]
        x -= 1
    c[0] = c[0] + 1  # written
    return p[0]


@pytest.mark.parametrize(
    "fn",
    [
        chosen_by_if,
        chosen_dict,
        chosen_by_a_function,
        chosen_of_a_tuple,
        chosen_and_written_in_a_loop,
        chosen_and_appended_to_in_a_loop,
        made_anew_in_a_loop,
        kept_or_made_anew,
        compared,
    ],
)
def test_containers_that_a_tensor_chose_are_not_written(fn):
    message = refused(fn, 5)
    assert line(fn, "# written") in message and "by a tensor" in message
    assert line(fn, "x > 2") in message


def grown_in_a_loop(x):
    p = [x]
    c = p
    while x > 0:  # block
        c.append(x)
        x -= 1
    return len(p)


def grown_in_a_branch(x):
    p = [x]
    c = p
    if x > 2:  # block
        c.append(x)
    return len(p)


def item_that_shrinks(x):
    rows = [[x, x], [x]]
    row = rows[0]
    if x > 2:  # block
        row.pop()
    return len(rows[0])


@pytest.mark.parametrize("fn", [grown_in_a_loop, grown_in_a_branch, item_that_shrinks])
def test_lists_of_two_names_do_not_become_lists_of_the_graph(fn):
    message = refused(fn, 5)
    assert line(fn, "# block") in message and "has another name" in message


def test_containers_that_a_tensor_chose_are_read_and_copied():
    @gyre.function
    def f(x):
        p, q = [x, x + 1], [x * 2, x * 3]
        c = p if x > 2 else q
        d = list(c)
        d[0] = d[0] + c[1]
        return d[0], p[0], q[0]

    assert [int(v) for v in f(gyre.constant(5))] == [11, 5, 10]
    assert [int(v) for v in f(gyre.constant(1))] == [5, 1, 2]


def test_containers_that_branches_make_are_written():
    @gyre.function
    def f(x):
        c = [x]
        if x > 2:
            c = [x * 2]
        c[0] = c[0] + 1
        d = {"a": x} if x > 2 else {"a": x * 3}
        d["a"] += 1
        return c[0], d["a"]

    assert [int(v) for v in f(gyre.constant(5))] == [11, 6]
    assert [int(v) for v in f(gyre.constant(1))] == [2, 4]


# ---- Iterators


def next_in_a_loop(x):
    values = iter([1, 2, 3, 4, 5, 6])
    s = x * 0
    while x > 0:  # block
        s += next(values)
        x -= 1
    return s


def for_in_branches(x):
    values = iter([1, 2, 3])
    s = x * 0
    if x > 2:  # block
        for v in values:
            s += v
    return s


def counted(x):
    values = itertools.count()
    while x > 0:  # block
        x -= 1 + next(values)
    return x


def generator_in_a_branch(x):
    values = (i for i in range(10))
    s = 0
    if x > 2:  # block
        s = sum(values)
    return s


def zipped(x):
    values = iter([1, 2, 3, 4])
    s = x * 0
    if x > 2:  # block
        for a, b in zip(values, values, strict=False):
            s += a * b
    return s


def mapped(x):
    values = map(abs, [1, 2, 3])
    s = 0
    if x > 2:  # block
        s = next(values)
    return s


@pytest.mark.parametrize(
    "fn", [next_in_a_loop, for_in_branches, counted, generator_in_a_branch, zipped, mapped]
)
def test_older_iterators_are_not_advanced(fn):
    message = refused(fn, 5)
    assert "'values'" in message and "iterator" in message and line(fn, "# block") in message


def test_iterators_of_the_block_itself():
    @gyre.function
    def f(x):
        s = x * 0
        values = iter([4, 5])
        first = next(values)
        if x > 2:
            for i, v in zip(itertools.count(), iter([1, 2, 3]), strict=False):
                s += i * v
        return s + first + next(values)

    assert int(f(gyre.constant(5))) == 17 and int(f(gyre.constant(0))) == 9


# ---- Containers that something else than a statement changes


def changes():
    """name -> (what is made before the block, what a call does with it)."""
    token = contextvars.ContextVar("token", default=0)
    return {
        "heapq": ([3, 1], lambda held: heapq.heappush(held, 0)),
        "bisect": ([1, 3], lambda held: bisect.insort(held, 2)),
        "deque": (collections.deque([1]), lambda held: held.append(2)),
        "Counter": (collections.Counter(), lambda held: held.update("a")),
        "OrderedDict": (
            collections.OrderedDict(a=1, b=2),
            lambda held: held.move_to_end("a"),
        ),
        "UserList": (collections.UserList([1]), lambda held: held.append(2)),
        "bytearray": (bytearray(2), lambda held: held.__setitem__(0, 1)),
        "array": (array.array("i", [0, 0]), lambda held: held.__setitem__(0, 1)),
        "StringIO": (io.StringIO(), lambda held: print("abc", file=held)),
        "ndarray": (np.zeros(2), lambda held: np.add(held, 1, out=held)),
        "fill": (np.zeros(2), lambda held: held.fill(1)),
        "ContextVar": (token, lambda held: held.set(1)),
        "list": ([1], lambda held: held.append(2)),
        "set": ({1}, lambda held: held.add(2)),
        "dict": ({}, lambda held: held.setdefault("a", 1)),
    }


@pytest.mark.parametrize("name", changes())
def test_older_containers_are_not_changed_by_calls(name):
    def f(x):
        held, change = changes()[name]
        if x > 2:  # block
            change(held)
        return x

    message = refused(f, 0)
    assert "'held'" in message and line(f, "# block") in message and "by a call" in message


def default_value(x):
    def add(value, held=[]):  # noqa: B006
        held.append(value)
        return len(held)

    s = 0
    if x > 2:  # block
        s = add(1)
    return s


def memory(x):
    held = {}

    def count():
        held["calls"] = held.get("calls", 0) + 1
        return held["calls"]

    s = x * 0
    while x > 0:  # block
        s += count()
        x -= 1
    return s


class Own(list):
    pass


def own_list(x):
    held = Own([0])
    if x > 2:  # block
        held.append(1)
    else:
        held.append(2)
    return held[1]


class Account:
    def __init__(self):
        self.calls, self.sums, self.is_used = 0, [], False

    def add(self, value):
        self.sums.append(value)

    def __enter__(self):
        self.calls += 1

    def __exit__(self, *error):
        pass

    def use(self):
        self.is_used = True


def list_of_an_object(x):
    held = Account()
    if x > 2:  # block
        held.add(1)
    else:
        held.add(2)
    return held.sums[0]


def count_of_an_object(n):
    held = Account()
    while n > 0:  # block
        with held:
            n -= 1
    return held.calls


def random_numbers(x):
    held = random.Random(1)
    s = x
    if x > 2:  # block
        s = x * held.randrange(3)
    return s


@pytest.mark.parametrize(
    "fn",
    [
        default_value,
        memory,
        own_list,
        list_of_an_object,
        count_of_an_object,
        random_numbers,
    ],
)
def test_what_is_older_is_not_changed_by_functions_and_methods(fn):
    message = refused(fn, 5)
    assert "held" in message or "'a default value of add'" in message
    assert line(fn, "# block") in message and "by a call" in message


def test_objects_may_note_that_something_is_done():
    @gyre.function
    def f(x):
        held = Account()
        if x > 2:
            held.use()
        return x

    assert int(f(gyre.constant(5))) == 5


OF_ALL_TRACES = Account()


def test_what_is_of_outside_may_record_traces():
    @gyre.function
    def f(x):
        if x > 2:
            with OF_ALL_TRACES:
                OF_ALL_TRACES.add(1)
        return x

    assert int(f(gyre.constant(5))) == 5 and OF_ALL_TRACES.sums


# ---- Items of classes of the user's


class Doubling(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


def test_a_users_dict_is_assigned_once():
    @gyre.function
    def f(x):
        held = Doubling(a=1)
        if x > 2:
            held["a"] = 5
        return held["a"]

    assert int(f(gyre.constant(5))) == 10 and int(f(gyre.constant(0))) == 1


class Tripling:
    def __init__(self):
        self.a = 1

    def __getitem__(self, key):
        return self.a

    def __setitem__(self, key, value):
        self.a = value * 3


def test_items_that_cannot_be_put_back_are_refused():
    def f(x):
        held = Tripling()
        if x > 2:
            held["a"] = x
        return held["a"]

    assert "__setitem__ keeps something else" in refused(f, 5)
