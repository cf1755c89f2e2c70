"""Runs beside other threads, signals, forks and host functions."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from child_signals import computed_by, set_default_signals
from gyre import _gyre


def prepared(build, *specs, effects=True):
    graph = _gyre.Graph()
    with graph:
        inputs = [graph.placeholder(dtype, dims) for dtype, dims in specs]
        outputs = build(*inputs)
    return graph.prepare(inputs, outputs, effects=effects)


def test_one_executable_on_many_threads():
    call = prepared(
        lambda x: _gyre.trace_while(lambda v: v[0] < 1000.0, lambda v: [v[0] + x], [x]),
        ("float32", ()),
    )
    failures = []

    def work(k):
        for _ in range(200):
            if call([_gyre.tensor(float(k))])[0].numpy() != -(-1000 // k) * k:
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 3, 7, 10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_eager_ops_on_many_threads():
    x = _gyre.tensor(np.ones((100, 100), np.float32))
    results = []

    def work():
        y = x
        for _ in range(50):
            y = y @ x * 0.01
        results.append(y.numpy()[0, 0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and np.ptp(results) == 0


def test_current_graph_is_per_thread():
    seen = []
    with _gyre.Graph():
        t = threading.Thread(target=lambda: seen.append(_gyre.current_graph()))
        t.start()
        t.join()
    assert seen == [None]


def test_deadlines_and_budgets():
    endless = prepared(
        lambda x: _gyre.trace_while(lambda v: True, lambda v: [v[0] + x], [x]), ("float32", ())
    )
    begin = time.process_time()
    with pytest.raises(Exception) as caught:
        endless.run([_gyre.tensor(1.0)], timeout_ms=50)
    assert caught.value.code == "DEADLINE_EXCEEDED" and time.process_time() - begin < 2
    big = prepared(lambda x: [_gyre.execute("Fill", [[1000, 1000], x])[0]], ("float32", ()))
    with pytest.raises(Exception) as caught:
        big.run([_gyre.tensor(1.0)], budget_bytes=1000)
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    results, statistics = big.run([_gyre.tensor(1.0)], trace=True)
    assert results[0]._dims == (1000, 1000) and statistics["nodes"]
    with pytest.raises(ValueError):
        big.run([_gyre.tensor(1.0)], timeout_ms=-1)


def test_progress_and_timelines(tmp_path, core_error):
    endless = prepared(
        lambda x: _gyre.trace_while(lambda v: v[0] < 3e6, lambda v: [v[0] + x], [x], name="loop"),
        ("float32", ()),
    )
    told = []
    path = tmp_path / "timeline.json"
    results, statistics = endless.run(
        [_gyre.tensor(1.0)], progress=told.append, progress_ms=10, trace=True
    )
    assert (
        results[0].numpy() == 3e6
        and statistics["loops"][0]["iterations"] > 0
        and statistics["saved"] == []
    )
    # The first may have been asked for before the loop began.
    inside = [progress for progress in told if progress["loops"]]
    assert inside and inside[0]["loops"][0]["name"] == "loop" and inside[0]["node"]
    assert told[-1]["nanos"] > 0

    class Enough(Exception):
        pass

    def stop(progress):
        raise Enough

    forever = prepared(
        lambda x: _gyre.trace_while(lambda v: True, lambda v: [v[0] + x], [x]), ("float32", ())
    )
    with pytest.raises(Enough):
        forever.run([_gyre.tensor(1.0)], progress=stop, progress_ms=5)
    with pytest.raises(core_error):
        forever.run([_gyre.tensor(1.0)], timeline=str(path), timeout_ms=20)
    assert path.stat().st_size > 100
    with pytest.raises(TypeError):
        forever.run([_gyre.tensor(1.0)], progress=3)


LOOPS = {
    "graph": """
        graph = g.Graph()
        with graph:
            x = graph.placeholder("float32", ())
            y = g.trace_while(lambda v: True, lambda v: [v[0] + x], [x])
        call = graph.prepare([x], y)
        one = [g.tensor(1.0)]
        work = lambda: call(one)
        """,
    "eager": """
        q = g.execute("FIFOQueueV2", [], {"component_types": ["float32"]})[0]
        work = lambda: g.execute("QueueDequeueV2", [q], {"component_types": ["float32"]})
        """,
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("handler", ["pass", "signal.signal(signal.SIGINT, lambda *a: mine())"])
def test_ctrl_c(loop, handler):
    """Within 100 ms: of the process's own time where it computes, for others may need the machine,
    too; a wait takes none of that."""
    waits = loop == "eager"
    clock = "monotonic" if waits else "process_time"
    code = (
        textwrap.dedent("""
        import signal, sys, time
        from gyre import _gyre as g
        class Mine(BaseException): pass
        def mine(): raise Mine()
        """)
        + textwrap.dedent(LOOPS[loop])
        + textwrap.dedent(f"""
        for i in range(4):
            {handler}
            print("running", flush=True)
            try:
                work()
            except (KeyboardInterrupt, Mine) as e:
                print(type(e).__name__, time.{clock}(), flush=True)
        print(float(g.tensor(1.0) + 1.0))
        """)
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=set_default_signals,
    )
    watchdog = threading.Timer(20, process.kill)
    watchdog.start()
    try:
        took = []
        for _ in range(4):
            assert process.stdout.readline() == "running\n", process.stderr.read()
            time.sleep(0.2)
            sent = time.monotonic() if waits else computed_by(process)
            process.send_signal(signal.SIGINT)
            name, at = process.stdout.readline().split()
            assert name == ("KeyboardInterrupt" if handler == "pass" else "Mine")
            took.append(float(at) - sent)
        assert min(took) < 0.1, took
        assert process.stdout.readline() == "2.0\n"
        assert process.wait(timeout=10) == 0
    finally:
        watchdog.cancel()
        process.kill()


def test_fork():
    x = _gyre.tensor(np.ones((300, 300), np.float32))
    call = prepared(
        lambda a: _gyre.trace_map(lambda v: [v[0] @ v[0]], [a]), ("float32", (4, 100, 100))
    )
    rows = _gyre.tensor(np.ones((4, 100, 100), np.float32))
    expected = call([rows])[0].numpy().sum()
    child = os.fork()
    if child == 0:
        try:
            ok = (
                all(call([rows])[0].numpy().sum() == expected for _ in range(5))
                and (x @ x).numpy()[0, 0] == 300
            )
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    assert call([rows])[0].numpy().sum() == expected


def fork_work(n):
    x = _gyre.tensor(np.full((200, 200), n, np.float32))
    return float((x @ x)[0, 0])


def test_multiprocessing_fork():
    import multiprocessing

    fork_work(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(fork_work, range(4)).get(timeout=30) == [
            200.0 * n * n for n in range(4)
        ]


def test_host_functions():
    seen = []

    def double(args):
        assert _gyre.executing_eagerly()
        seen.append(threading.get_ident())
        return [args[0] * 2.0]

    token = _gyre.register_host_function(double)
    attrs = {"token": token, "Tin": ["float32"], "Tout": ["float32"]}
    assert _gyre.execute("EagerPyFunc", [[_gyre.tensor(2.0)]], attrs)[0].numpy() == 4
    call = prepared(lambda x: _gyre.execute("EagerPyFunc", [[x]], attrs), ("float32", ()))
    assert call([_gyre.tensor(3.0)])[0].numpy() == 6 and len(seen) == 2


def test_exceptions_of_host_functions():
    class Mine(Exception):
        pass

    error = Mine("why")

    def fails(args):
        raise error

    attrs = {"token": _gyre.register_host_function(fails), "Tin": ["float32"], "Tout": ["float32"]}
    call = prepared(
        lambda x: _gyre.trace_while(
            lambda v: v[0] < 3.0, lambda v: _gyre.execute("EagerPyFunc", [[v[0]]], attrs), [x]
        ),
        ("float32", ()),
    )
    for work in (
        lambda: _gyre.execute("EagerPyFunc", [[_gyre.tensor(2.0)]], attrs),
        lambda: call([_gyre.tensor(1.0)]),
    ):
        with pytest.raises(Mine) as caught:
            work()
        assert caught.value is error and caught.traceback[-1].name == "fails"
    for wrong, text in (
        (lambda a: None, "list"),
        (lambda a: [], "0 values"),
        (lambda a: [1], "int32"),
        (lambda a: [object()], "object"),
    ):
        attrs["token"] = _gyre.register_host_function(wrong)
        with pytest.raises(Exception, match=text):
            _gyre.execute("EagerPyFunc", [[_gyre.tensor(2.0)]], attrs)
    attrs["token"] = "nobody"
    with pytest.raises(Exception, match="nobody"):
        _gyre.execute("EagerPyFunc", [[_gyre.tensor(2.0)]], attrs)


def test_prints_go_to_python(capsys):
    _gyre.execute("PrintV2", ["hello"])
    assert "hello" in capsys.readouterr().err


def test_error_codes():
    with pytest.raises(Exception) as caught:
        _gyre.execute("Nonsense", [])
    assert caught.value.code == "NOT_FOUND" and "Nonsense" in str(caught.value)

    def broken(code, message, system_error):
        raise KeyError(code)

    _gyre.set_error_factory(broken)
    with pytest.raises(KeyError):
        _gyre.execute("Nonsense", [])


def test_objects_that_were_never_made():
    with pytest.raises(TypeError):
        _gyre.Tensor()
    with pytest.raises(TypeError):
        _gyre.Tensor.__new__(_gyre.Tensor)
    with pytest.raises(TypeError):
        _gyre.DType()
    graph = _gyre.Graph.__new__(_gyre.Graph)
    for wrong in (
        lambda: graph.prepare([], []),
        lambda: graph.__enter__(),
        lambda: graph.text(),
        lambda: graph.captures,
    ):
        with pytest.raises(TypeError):
            wrong()
    for cls in (_gyre.Tape, _gyre.Executable, _gyre.GraphFunction, _gyre.DType):
        with pytest.raises(TypeError):
            empty = cls.__new__(cls)
            (empty.start if hasattr(cls, "start") else empty)([])
    made = _gyre.Graph()
    with pytest.raises(TypeError):
        made.__init__()
    with made, pytest.raises(ValueError):
        _gyre.Graph().__exit__(None, None, None)


def test_golden_graphs(tmp_path):
    result = _gyre.check_golden(str(tmp_path), [])
    assert result["code"] == 2 and result["passed"] == 0 and "case.json" in result["errors"]


def test_command_line(capfd):
    assert _gyre.cli(["ops"]) == 0
    assert "AddV2" in capfd.readouterr().out
    assert _gyre.cli(["nonsense"]) == 2
    with pytest.raises(TypeError):
        _gyre.cli([3])


def test_ops_within_host_functions():
    """More host functions and attributes than the cache of ops keeps."""

    def many(args):
        for i in range(80):
            _gyre.execute("Split", [0, args[0]], {"num_split": 1, "_mark": i})
        return [args[0]]

    for _ in range(70):
        attrs = {
            "token": _gyre.register_host_function(many),
            "Tin": ["float32"],
            "Tout": ["float32"],
        }
        assert _gyre.execute("EagerPyFunc", [[_gyre.tensor([2.0])]], attrs)[0].numpy() == 2


def test_a_thread_that_leaves_a_graph_current():
    thread = threading.Thread(target=lambda: _gyre.Graph().__enter__())
    thread.start()
    thread.join()
    assert _gyre.current_graph() is None
