"""Ranks that come to different collectives, or to none, die, or are told to stop: an error on each,
that says who and where, and never a hang."""

import signal
import time

import pytest

from launch import await_end, run, start

_TIMEOUT = 2.0  # seconds after which a rank that does nothing is gone

# Prints the error, and how long it has taken.
_TELL = """
def tell(f, *args):
    began = time.monotonic()
    try:
        f(*args)
    except gyre.errors.OpError as error:
        print(type(error).__name__, "@", error.message.replace("\\n", " | "))
        assert time.monotonic() - began < {limit}
    else:
        print("nothing")
"""


def _errors(n: int, body: str, limit: float = _TIMEOUT, **options) -> list[str]:
    body = _TELL.format(limit=limit) + body
    return run(n, body, failure_timeout=_TIMEOUT, **options)


def test_shapes_types_reductions_and_kinds():
    for out in _errors(
        2,
        """
tell(d.all_reduce, np.zeros([2, 3 + rank], np.float32))
tell(d.all_reduce, np.zeros(3, "float32" if rank else "float64"))
tell(d.all_reduce, 1.0, "sum" if rank else "max")
tell(d.all_reduce if rank else d.all_gather, [1.0])
tell(d.broadcast, [1.0], rank)
assert d.all_reduce(1.0).numpy() == 2  # and all goes on
""",
    ):
        shapes, types, reductions, kinds, roots = out.splitlines()
        assert shapes.startswith("InvalidArgumentError @ the ranks disagree: rank ")
        for text in ("rank 0 (", "rank 1 (", "float32 [2, 3]", "float32 [2, 4]", "all_reduce"):
            assert text in shapes
        assert "float64 [3]" in types and "float32 [3]" in types
        assert "sum" in reductions and "maximum" in reductions
        assert "all_reduce" in kinds and "all_gather" in kinds
        assert "broadcast" in roots


@pytest.mark.parametrize("taken", [0, 1])
def test_another_branch_that_holds_none(taken):
    for rank, out in enumerate(
        _errors(
            2,
            f"""
@gyre.function
def f(x, go):
    for i in gyre.range(5):
        if i < 3 or go:
            x = d.all_reduce(x)
    return x

tell(f, gyre.constant(1.0), gyre.constant(rank == {taken}))
assert d.all_reduce(1.0).numpy() == 2  # and all goes on
""",
        )
    ):
        if rank != taken:
            assert out == "nothing\n"
        else:
            assert out.startswith("FailedPreconditionError @ the ranks have diverged: rank ")
            assert f"rank {1 - taken} (" in out and "has ended this run without coming to" in out
            assert "in iteration 3 of the body (function for_body) of While node for" in out
            assert "as predicate or (StatelessIf) of If node cond decides, written at" in out
            assert "as predicate Less (Less) of While node for decides, written at" in out


def test_another_branch_that_holds_another():
    for out in _errors(
        2,
        """
@gyre.function
def f(x, r):
    for i in gyre.range(5):
        if i == 3 and r > 0:
            x = d.all_reduce(x, name="one")
        elif i == 3:
            x = d.all_gather(gyre.expand_dims(x, 0), name="other")[0]
        else:
            x = d.all_reduce(x, "max", name="usual")
    return x

tell(f, gyre.constant(7.0), gyre.constant(rank))
""",
        limit=2 * _TIMEOUT,
    ):
        assert "Error @ " in out and "diverged" in out
        for text in ("rank 0 (", "rank 1 (", "one", "other", "iteration 3"):
            assert text in out
        assert "as predicate and (StatelessIf) of If node cond decides" in out


def test_another_trip_count():
    outs = _errors(
        3,
        """
@gyre.function
def f(x, n):
    for i in gyre.range(n):
        x = d.all_reduce(x, "mean")
    return x

tell(f, gyre.constant(1.0), gyre.constant(10 + (rank == 2)))
time.sleep(1)  # who has ended is not gone yet
""",
    )
    assert outs[:2] == ["nothing\n"] * 2
    assert "FailedPreconditionError" in outs[2] and "iteration 10" in outs[2]
    assert "as predicate Less (Less) of While node for decides" in outs[2]


def test_an_error_of_one_rank_ends_the_run_of_all():
    outs = _errors(
        2,
        """
@gyre.function
def f(x):
    for i in gyre.range(10):
        gyre.debugging.assert_less(i * rank, 4, message="only here")
        x = d.all_reduce(x, "mean")
    return x

tell(f, gyre.constant(1.0))
assert d.all_reduce(1.0).numpy() == 2  # and all goes on
""",
    )
    assert outs[1].startswith("InvalidArgumentError @ ") and "only here" in outs[1]
    assert outs[0].startswith("AbortedError @ rank 1 (")
    assert "has given up this run" in outs[0] and "only here" in outs[0]


def test_slow_is_not_diverged():
    run(
        2,
        """
        def slowly(x):
            time.sleep(3.0 * rank)
            return x

        @gyre.function
        def f(x):
            x = d.all_reduce(x)
            x = gyre.numpy_function(slowly, [x], "float32")
            return d.all_reduce(x)

        assert f(gyre.constant(1.0)).numpy() == 4
        time.sleep(3.0 * (1 - rank))
        assert d.all_reduce(1.0).numpy() == 2
        """,
        failure_timeout=1.0,
    )


def test_timeouts_of_collectives():
    outs = _errors(
        2,
        """
if rank == 0:
    tell(lambda: d.all_reduce(1.0, timeout=0.3))
else:
    time.sleep(1.5)
""",
    )
    assert outs[0].startswith("DeadlineExceededError @ ") and "rank 1 (" in outs[0]


def test_deadlines_and_interrupts():
    processes = start(
        2,
        """
        import _thread, threading

        @gyre.function
        def f(x):
            for i in gyre.range(3):
                x = d.all_reduce(x)
            return x

        if rank == 0:
            with gyre.limits(seconds=0.5):
                try:
                    f(gyre.constant(1.0))
                except gyre.errors.DeadlineExceededError as error:
                    assert "CollectiveReduceV2" in error.message, error.message
                else:
                    raise AssertionError("no deadline")
            threading.Timer(0.3, _thread.interrupt_main).start()
            try:
                d.all_reduce(1.0)
            except KeyboardInterrupt:
                print("interrupted")
        else:
            time.sleep(2.0)
        """,
    )
    ended = await_end(processes)
    assert [one.code for one in ended] == [0, 0], ended[0].err
    assert ended[0].out == "interrupted\n"


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_rank_that_is_killed(transport, in_loop):
    processes = start(
        3,
        _TELL.format(limit=_TIMEOUT + 30)
        + """
@gyre.function
def f(x):
    while x > 0.0:
        x = d.all_reduce(x, "mean")
    return x

def again():
    while True:
        d.all_reduce(np.ones(100_000, np.float32))

print("begins", flush=True)
tell(*((f, gyre.constant(1.0)) if IN_LOOP else (again,)))
tell(d.all_reduce, 1.0)  # from then on at once
""".replace("IN_LOOP", str(in_loop)),
        failure_timeout=_TIMEOUT,
        options=f"transport={transport!r}",
    )
    for process in processes:
        assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    processes[1].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    ended = await_end(processes)
    assert time.monotonic() - killed < _TIMEOUT
    for rank in (0, 2):
        assert ended[rank].code == 0, ended[rank].err
        first, second = ended[rank].out.splitlines()
        assert "rank 1 (" in first + second and ("gone" in first or "gone" in second)
        assert "Error @ " in first and second.startswith("UnavailableError @ ")


def test_a_rank_that_hangs():
    processes = start(
        2,
        _TELL.format(limit=60)
        + """
d.barrier()
print("begins", flush=True)
tell(lambda: [d.all_reduce(1.0) for _ in range(10**9)])
""",
        failure_timeout=_TIMEOUT,
    )
    for process in processes:
        assert process.stdout.readline() == "begins\n"
    processes[1].send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    out, err = processes[0].communicate(timeout=30)
    assert time.monotonic() - stopped < 2 * _TIMEOUT
    assert processes[0].returncode == 0, err
    assert out.startswith("UnavailableError @ rank 1 (") and "nothing was heard of it" in out
    processes[1].send_signal(signal.SIGKILL)
    processes[1].communicate()


def test_a_rank_whose_program_ends():
    outs = _errors(2, "if rank == 0: tell(d.all_reduce, 1.0)\n")
    assert outs[0].startswith("UnavailableError @ rank 1 (") and "gone" in outs[0]


def test_what_a_rank_has_sent_is_taken_after_it_has_left():
    run(
        2,
        """
        x = np.full(3_000_000, 1.0 + rank, np.float32)
        if rank == 1:
            time.sleep(0.3)
        for _ in range(3):
            np.testing.assert_array_equal(d.all_gather(x[:, None])[:: 3_000_000, 0], [1, 2])
        """,
    )
