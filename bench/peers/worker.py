"""Measures a peer's cases one at a time, as it is told: what bench/run.py interleaves with Gyre.

    worker.py PEER [--threads N] [--sample-ms N]
        PEER: gyre, tensorflow[_v1|_xla], jax, onnxruntime
    worker.py PEER --run-saved PATH
        loads a saved graph, runs it once, checks what comes out

Speaks as bench/worker_bench.cc does: reads names of cases, one a line, and answers `ok NANOSECONDS`
per unit, or `none`. Before the first it says `version X`.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def run_times(run, times):
    for _ in range(times):
        run()


class Sampler:
    """A case that has been checked and run for a while, and how many runs make a sample."""

    def __init__(self, case, sample_ns):
        wrong = case.check()
        if wrong:
            raise RuntimeError(wrong)
        self.case, self.times = case, 1
        while not case.is_figure and (ns := self.time()) < sample_ns / 2:
            self.times = min(int(self.times * sample_ns / max(ns, 1)) + 1, 10 * self.times)

    def time(self):
        """Nanoseconds for `times` runs by each client."""
        case = self.case
        begin = time.perf_counter_ns()
        if case.clients == 1:
            run_times(case.run, self.times)
        else:
            clients = [
                threading.Thread(target=run_times, args=(case.run, self.times))
                for _ in range(case.clients)
            ]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        return time.perf_counter_ns() - begin

    def sample(self):
        if self.case.is_figure:
            return self.case.run()
        return self.time() / (self.times * self.case.clients * self.case.units)


def process_case(name, peer, threads, folder):
    """The whole process that loads the peer and a saved graph, and runs it once."""
    from values import Case

    command = [
        sys.executable,
        __file__,
        name,
        "--threads",
        str(threads),
        "--run-saved",
        peer.save(folder),
    ]
    return Case(lambda: subprocess.run(command, check=True, capture_output=True), None)


def serve(name, peer, threads, sample_ns, folder):
    cases = peer.cases(threads)
    if hasattr(peer, "save"):
        cases["process/saved_graph"] = lambda: process_case(name, peer, threads, folder)
    samplers = {}
    print("version", peer.VERSION, flush=True)
    for line in sys.stdin:
        case = line.strip()
        if case not in cases:
            print("none", flush=True)
            continue
        if case not in samplers:
            samplers[case] = Sampler(cases[case](), sample_ns)
        print("ok", samplers[case].sample(), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sample-ms", type=float, default=30)
    parser.add_argument("--run-saved")
    options = parser.parse_args()
    peer = importlib.import_module(f"{options.peer}_peer")
    peer.configure(options.threads)
    if options.run_saved:
        import values

        got = float(peer.run_saved(options.run_saved))
        return (
            0 if got == values.SHORT_ITERATIONS else f"{got} instead of {values.SHORT_ITERATIONS}"
        )
    with tempfile.TemporaryDirectory() as folder:
        serve(options.peer, peer, options.threads, options.sample_ms * 1e6, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
