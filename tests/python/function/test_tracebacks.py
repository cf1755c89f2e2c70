"""Tracebacks show the user's lines, and Gyre's own only on request."""

import os
import subprocess
import sys
import traceback

import pytest

import gyre


def frames(error):
    return [
        (frame.name, "_impl" in frame.filename)
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def wrong(x):
    return undefined_name + x  # noqa: F821


def test_call_line_then_own_lines():
    def f(x):
        if x > 0:
            x = wrong(x)
        return x

    with pytest.raises(NameError) as caught:
        gyre.function(f)(gyre.constant(1))
    assert frames(caught.value) == [
        ("test_call_line_then_own_lines", False),
        ("f", False),
        ("wrong", False),
    ]


def test_gyre_between_users_frames():
    @gyre.function
    def inner(v):
        return gyre.map_fn(lambda x: wrong(x), v)

    @gyre.function
    def outer(v):
        return gyre.cond(v[0] > 0, lambda: inner(v), lambda: v)

    with pytest.raises(NameError) as caught:
        outer(gyre.constant([1.0]))
    found = frames(caught.value)
    assert not any(ours for _, ours in found) and found[-1][0] == "wrong" and len(found) >= 5


def test_errors_of_runs_show_the_call():
    f = gyre.function(lambda x: 1 // x)
    for _ in range(2):  # the slow way and the fast one
        with pytest.raises(gyre.errors.OpError) as caught:
            f(gyre.constant(0))
        assert frames(caught.value) == [("test_errors_of_runs_show_the_call", False)]


def test_concrete_functions():
    f = gyre.function(lambda x: 1 // x)
    concrete = f.get_concrete_function(gyre.constant(0))
    with pytest.raises(gyre.errors.OpError) as caught:
        concrete(gyre.constant(0))
    assert len(frames(caught.value)) == 1
    with pytest.raises(NameError) as caught:
        gyre.function(wrong).get_concrete_function(gyre.TensorSpec([], gyre.float32))
    assert [name for name, _ in frames(caught.value)] == ["test_concrete_functions", "wrong"]


def test_wrong_arguments():
    @gyre.function
    def scaled(x, factor=2):
        return x * factor

    with pytest.raises(
        TypeError, match=r"scaled\(x, factor=2\) was called with 3 positional arguments"
    ) as caught:
        scaled(1, 2, 3)
    assert len(frames(caught.value)) == 1
    with pytest.raises(TypeError, match=r"scaled.*unexpected keyword argument 'k'"):
        scaled(1, k=3)


def test_methods():
    class Model:
        @gyre.function
        def run(self, x):
            return wrong(x)

    with pytest.raises(NameError) as caught:
        Model().run(gyre.constant(1.0))
    assert [name for name, _ in frames(caught.value)] == ["test_methods", "run", "wrong"]


def test_errors_that_led_to_it():
    @gyre.function
    def f(x):
        try:
            return gyre.function(wrong)(x)
        except NameError as error:
            raise ValueError("mine") from error

    with pytest.raises(ValueError, match="mine") as caught:
        f(gyre.constant(1.0))
    shown = "".join(traceback.format_exception(caught.value))
    assert "NameError" in shown and "_impl" not in shown and "direct cause" in shown


def test_on_request():
    f = gyre.function(wrong)
    gyre.debugging.disable_traceback_filtering()
    try:
        with pytest.raises(NameError) as caught:
            f(gyre.constant(1))
    finally:
        gyre.debugging.enable_traceback_filtering()
    assert (
        any(ours for _, ours in frames(caught.value))
        and gyre.debugging.is_traceback_filtering_enabled()
    )


@pytest.mark.parametrize("setting, shown", [("full", True), ("", False)])
def test_by_the_environment(tmp_path, setting, shown):
    path = tmp_path / "program.py"
    path.write_text("import gyre\n@gyre.function\ndef f(x):\n    return nothing\nf(1)\n")
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GYRE_TRACEBACK": setting},
    )
    assert done.returncode == 1 and ("_impl" in done.stderr) == shown
    assert done.stderr.endswith("NameError: name 'nothing' is not defined\n")


def test_subclasses_say_what_they_raise():
    class Quiet(gyre._gyre.QuietCallable):
        def _call(self, args, kwargs):
            return args, kwargs

    assert Quiet()(1, 2) == ((1, 2), None) and Quiet()(k=3) == ((), {"k": 3})
    with pytest.raises(AttributeError, match="_call"):
        gyre._gyre.QuietCallable()()
    with pytest.raises(TypeError, match="callable"):
        gyre._gyre.set_traceback_filter("nothing")


def test_decorator_of_what_it_does_not_take():
    def numbers():
        yield 1

    with pytest.raises(TypeError, match="numbers .* is a generator") as caught:
        gyre.function(numbers)
    assert [str(entry.path) for entry in caught.traceback] == [__file__]
