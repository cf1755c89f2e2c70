"""How ranks come together."""

import signal
import subprocess
import sys
import time

import pytest

import gyre
from child_signals import set_default_signals
from launch import await_end, free_port, run, start


def _init(**options):
    return gyre.cluster.init(**{"rank": 1, "size": 2, "join_timeout": 0.3, **options})


def test_who_is_missing_is_told():
    where = f"127.0.0.1:{free_port()}"
    with pytest.raises(gyre.errors.DeadlineExceededError, match="there was no coordinator"):
        _init(coordinator=where)
    with pytest.raises(gyre.errors.DeadlineExceededError, match="there was no rank 1, rank 2"):
        _init(coordinator=where, rank=0, size=3)
    assert gyre.cluster.size() == 1


@pytest.mark.parametrize(
    "options, error",
    [
        ({"rank": 2}, "there is no rank 2 of 2 ranks"),
        ({"rank": -1}, "there is no rank -1"),
        ({"size": 100_000}, "there is no rank"),
        ({"coordinator": "nowhere"}, "is no address"),
        ({"coordinator": "127.0.0.1:0"}, "names its port"),
        ({"failure_timeout": 0.001}, "a failure timeout is between"),
        ({"token": "x" * 2000}, "a token has"),
        ({"transport": "pigeon"}, "pigeon"),
    ],
)
def test_options_that_make_no_sense(options, error):
    with pytest.raises((gyre.errors.InvalidArgumentError, ValueError), match=error):
        _init(**{"coordinator": "127.0.0.1:4000", **options})


def test_other_machines_need_a_token():
    with pytest.raises(gyre.errors.PermissionDeniedError, match="GYRE_TOKEN"):
        _init(coordinator="0.0.0.0:4000", token="")


def test_tokens():
    run(2, "assert d.all_reduce(1.0).numpy() == 2", env={"GYRE_TOKEN": "a token of some length"})
    processes = start(
        2,
        "",
        options="token='this one' if rank else 'that one', join_timeout=1.0",
    )
    ended = await_end(processes)
    assert [one.code for one in ended] == [1, 1]
    assert "there was no rank 1" in ended[0].err
    assert "UnauthenticatedError" in ended[1].err


def test_two_of_one_rank():
    processes = start(3, "", options="rank=min(rank, 1), join_timeout=2.0")
    ended = await_end(processes)
    assert "there was no rank 2" in ended[0].err
    assert any("two processes are rank 1" in one.err for one in ended[1:])


def test_again_after_leaving():
    port = free_port()
    out = run(
        2,
        f"""
        gyre.cluster.leave()
        assert (gyre.cluster.rank(), gyre.cluster.size()) == (0, 1)
        for _ in range(3):
            gyre.cluster.init(coordinator="127.0.0.1:{port}")
            assert (gyre.cluster.rank(), gyre.cluster.size()) == (rank, 2)
            assert d.all_reduce(1.0).numpy() == 2
            gyre.cluster.leave()
        print("joined")
        """,
    )
    assert out == ["joined\n"] * 2


def test_who_leaves_at_once_has_been_met():
    run(
        2,
        f"""
        for _ in range(30):
            gyre.cluster.leave()
            gyre.cluster.init(coordinator="127.0.0.1:{free_port()}", join_timeout=20.0)
        """,
    )


def test_twice_is_an_error():
    run(
        2,
        """
        try:
            gyre.cluster.init()
        except gyre.errors.FailedPreconditionError as error:
            assert "is a rank already" in str(error)
        else:
            raise AssertionError("it joined twice")
        """,
    )


def test_a_child_that_a_rank_forks_is_alone():
    run(
        2,
        """
        child = os.fork()
        if child == 0:
            assert (gyre.cluster.rank(), gyre.cluster.size()) == (0, 1)
            assert d.all_reduce(5.0).numpy() == 5
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert d.all_reduce(1.0).numpy() == 2
        """,
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_ctrl_c_ends_joining(rank):
    program = f"""
import gyre
print("begins", flush=True)
try:
    gyre.cluster.init(coordinator="127.0.0.1:{free_port()}", rank={rank}, size=2, join_timeout=60)
except KeyboardInterrupt:
    print("ends")
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=set_default_signals,
    )
    assert child.stdout.readline() == "begins\n"
    time.sleep(0.3)  # it waits by then, or is about to
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=50)
    assert out == "ends\n"
