"""gyre.limits: runs that take too long or hold too much end with an error."""

import io
import time

import pytest

import gyre
import gyre.compat.v1 as v1


@gyre.function
def forever(x):
    while x >= 0.0:
        x = gyre.abs(gyre.sin(x))
    return x


@gyre.function
def large(n):
    return gyre.reduce_sum(gyre.sin(gyre.ones([n])) * gyre.ones([n]))


def test_a_run_that_is_late_ends_and_says_where_it_was():
    began = time.process_time()
    with (
        gyre.limits(seconds=0.05),
        pytest.raises(gyre.errors.DeadlineExceededError, match=r"test_limits\.py"),
    ):
        forever(gyre.constant(1.0))
    assert time.process_time() - began < 5.0


def test_a_run_that_holds_too_much_is_an_error_that_names_the_node():
    n = gyre.constant(1 << 20)
    with (
        gyre.limits(bytes=1 << 20),
        pytest.raises(gyre.errors.ResourceExhaustedError, match="node"),
    ):
        large(n)
    assert large(n) > 0.0  # without, and with enough
    with gyre.limits(bytes=1 << 26):
        assert large(n) > 0.0


def test_as_a_decorator_and_within_each_other():
    @gyre.limits(seconds=0.05)
    def limited():
        return forever(gyre.constant(1.0))

    with gyre.limits(seconds=600, bytes=1 << 30), pytest.raises(gyre.errors.DeadlineExceededError):
        limited()
    with (
        gyre.limits(bytes=1 << 20),
        gyre.limits(seconds=600),
        pytest.raises(gyre.errors.ResourceExhaustedError),
    ):
        large(gyre.constant(1 << 20))  # what the inner one does not say holds


def test_limits_hold_beside_progress_and_timelines(tmp_path):
    shown = io.StringIO()
    with gyre.limits(seconds=0.3), gyre.progress("long", after=0.0, every=0.02, file=shown):
        with pytest.raises(gyre.errors.DeadlineExceededError):
            forever(gyre.constant(1.0))
    assert "long: " in shown.getvalue()
    with gyre.limits(seconds=0.05), pytest.raises(gyre.errors.DeadlineExceededError):
        gyre.timeline(forever, gyre.constant(1.0), path=tmp_path / "trace.json")


def test_sessions_and_tapes_have_them():
    with v1.Graph().as_default(), v1.Session() as session:
        endless = v1.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [v1.constant(0)])
        with gyre.limits(seconds=0.05), pytest.raises(gyre.errors.DeadlineExceededError):
            session.run(endless)
    x = gyre.constant(1.0)
    with (
        gyre.limits(seconds=0.05),
        gyre.GradientTape() as tape,
        pytest.raises(gyre.errors.DeadlineExceededError),
    ):
        tape.watch(x)
        forever(x)


def test_compiled_loops_end_as_well():
    @gyre.function(jit_compile=True)
    def native(i):
        while i >= 0:
            i = (i + 1) % 1000
        return i

    with gyre.limits(seconds=0.05), pytest.raises(gyre.errors.DeadlineExceededError):
        native(gyre.constant(0))


@pytest.mark.parametrize(
    "limits", [{}, {"seconds": 0}, {"seconds": float("nan")}, {"bytes": -1}, {"seconds": -2.0}]
)
def test_less_than_nothing_is_no_limit(limits):
    with pytest.raises(ValueError, match="limits needs seconds|must be more than 0"):
        gyre.limits(**limits)


@pytest.mark.parametrize("limits", [{"seconds": "1"}, {"bytes": "1 MiB"}])
def test_a_limit_is_a_number(limits):
    with pytest.raises(TypeError, match=f"{next(iter(limits))} must be a number, not str"):
        gyre.limits(**limits)


def test_very_small_and_very_large_limits_are_limits():
    x = gyre.constant(1 << 10)
    with gyre.limits(bytes=0.5), pytest.raises(gyre.errors.ResourceExhaustedError):
        large(x)
    with gyre.limits(seconds=1e-9), pytest.raises(gyre.errors.DeadlineExceededError):
        forever(gyre.constant(1.0))
    with gyre.limits(seconds=1e300, bytes=10**30):
        assert large(x) > 0.0


@pytest.mark.parametrize("watch", [gyre.limits(seconds=5), gyre.progress(callback=print)])
def test_limits_within_a_traced_function_are_refused(watch):
    @gyre.function
    def within(x):
        with watch:
            return x + 1

    with pytest.raises(RuntimeError, match="use them where it is called"):
        within(gyre.constant(1.0))
    with watch:
        assert float(gyre.function(lambda x: x + 1)(gyre.constant(1.0))) == 2


@pytest.mark.parametrize("signature", [[gyre.float32], [3], [[gyre.TensorSpec([])], "x"]])
def test_an_input_signature_is_of_specs(signature):
    with pytest.raises(TypeError, match="which is no TypeSpec"):
        gyre.function(lambda *args: args, input_signature=signature)
