"""Forms of statements that conversion treats apart."""

import importlib.util
from pathlib import Path

import pytest

import gyre

X = gyre.constant(-3.0)


def test_docstring_is_all():
    @gyre.function
    def f(x):
        """Nothing."""

    assert f(X) is None


def test_return_without_a_value():
    @gyre.function
    def f(x):
        """Nothing."""
        return

    assert f(X) is None


def test_return_that_no_run_reaches_in_a_loop_of_a_loop():
    @gyre.function
    def f(n):
        i = n * 0
        while i < n:
            i += 1
            j = n * 0
            while j < i:
                j += 1
                if 0 > 2:
                    return -1
        return i

    assert int(f(gyre.constant(3))) == 3


def test_functions_that_always_return_do_not_check_it():
    @gyre.function
    def endless(n):
        while True:
            n += 1
            if n > 10:
                return n
            if n == -1:
                continue

    @gyre.function
    def last(n):
        for i in range(n):
            if i * i > n:
                return i
        return -1

    @gyre.function
    def perhaps(n):
        while True:
            n += 1
            if n == -1:
                break
            if n > 10:
                return n

    n = gyre.constant(5)
    assert int(endless(n)) == 11 and int(last(n)) == 3
    for fn in (endless, last):
        assert "Assert" not in fn.get_concrete_function(n).graph.text()
    assert "Assert" in perhaps.get_concrete_function(n).graph.text()
    with pytest.raises(gyre.errors.InvalidArgumentError, match="perhaps ended without a return"):
        perhaps(gyre.constant(-4))


def test_list_of_a_list_that_grew():
    @gyre.function
    def f(n):
        found = []
        for i in range(n):
            found.append(i)
        copy = list(found)
        copy.append(7)
        return len(found), copy

    size, values = f(gyre.constant(3))
    assert int(size) == 3 and [int(value) for value in values] == [0, 1, 2, 7]


def test_inner_functions_return_elsewhere():
    @gyre.function
    def f(x):
        def absolute(a):
            if a > 0.0:
                return a
            return -a

        def nothing(a):
            a + 1.0

        def double(a):
            """Twice."""
            return a * 2.0

        nothing(x)
        return absolute(double(x))

    assert float(f(X)) == 6


def test_methods_of_a_class_within():
    @gyre.function
    def f(x):
        class Adder:
            def add(self):
                return x + 1.0

            def nothing(self):
                pass

        Adder().nothing()
        return Adder().add()

    assert float(f(X)) == -2


def test_return_at_the_end_of_a_with():
    @gyre.function
    def f(x):
        with gyre.name_scope("a"):
            return x + 1.0

    assert float(f(X)) == -2


def test_break_alone_and_continue_alone():
    @gyre.function
    def f(x):
        for i in gyre.range(5):
            if i > 1:
                break
            x += 1.0
        for i in gyre.range(4):
            if i > 1:
                continue
            x += 10.0
        return x

    assert float(f(X)) == 19


def test_deleted_names():
    @gyre.function
    def f(x):
        y = z = x * 2.0
        del y
        z += x
        return z

    assert float(f(X)) == -9


def test_equal_functions_of_two_files_keep_their_own_lines(tmp_path):
    program = """import gyre

@gyre.function
def f(x):
    while x > 0:
        x = x + gyre.constant('a')
    return x
"""
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(program)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with pytest.raises(TypeError) as caught:
            module.f(gyre.constant(1))
        files = {Path(str(entry.path)).name for entry in caught.traceback}
        assert f"{name}.py" in files and not files & {"one.py", "two.py"} - {f"{name}.py"}
