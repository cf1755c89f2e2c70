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
