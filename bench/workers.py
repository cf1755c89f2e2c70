"""The processes that measure, one for each party (Gyre, a peer) and number of threads;
how their samples interleave."""

import os
import select
import subprocess
import sys
import tempfile
import time

GYRE, GYRE_PYTHON = "Gyre", "Gyre Python"
PEERS = {
    "TensorFlow": "tensorflow",
    "TensorFlow v1": "tensorflow_v1",
    "TensorFlow XLA": "tensorflow_xla",
    "JAX": "jax",
    "ONNX Runtime": "onnxruntime",
}
# A sample of a peer that takes longer than this is taken in every fifth round only.
SLOW_SECONDS, SLOW_ROUNDS = 1.0, 5
# Gyre's processes are begun anew so often: where its data happens to lie makes one process some
# percent faster than the next, which is not to be mistaken for a difference.
FRESH_ROUNDS = 5
# In place of a number of threads: one thread, on the CPUs that two threads have. What two are
# compared with: alone on a CPU, a process is spared moves that the same process on two CPUs is not.
ONE_FREE = -1
# Whoever gives no answer for so long has hung.
PATIENCE_SECONDS = 120


def cpus_for(threads):
    """The last CPUs: the first one serves most interrupts."""
    return sorted(os.sched_getaffinity(0))[-threads:]


class Worker:
    """A process that answers names of cases with nanoseconds (bench/worker_bench.cc).
    Started when first asked."""

    def __init__(self, command, cpus):
        self.command, self.cpus = command, cpus_for(cpus)
        self.process, self.errors, self.version = None, None, None
        self.missing, self.failures, self.seconds, self.is_broken = set(), {}, {}, False

    def start(self):
        self.errors = tempfile.TemporaryFile("w+")
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", TF_CPP_MIN_LOG_LEVEL="3")
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            bufsize=1,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, self.cpus),
        )
        greeting = self.answer()
        self.is_broken = len(greeting) != 2
        if self.is_broken:
            self.failures["every case"] = self.last_words()
        else:
            self.version = greeting[1]

    def answer(self):
        """The words of the next line; none where the process has ended or hangs."""
        if not select.select([self.process.stdout], [], [], PATIENCE_SECONDS)[0]:
            return []
        return self.process.stdout.readline().split()

    def sample(self, case):
        """Nanoseconds per unit, or another figure; None where the party has no such case or fails
        at it (then `failures` says why)."""
        if self.process is None and not self.is_broken:
            self.start()
        if self.is_broken or case in self.missing or case in self.failures:
            return None
        begin = time.monotonic()
        try:
            self.process.stdin.write(case + "\n")
            answer = self.answer()
        except BrokenPipeError:
            answer = []
        if answer == ["none"]:
            self.missing.add(case)
            return None
        if len(answer) != 2:
            self.failures[case] = self.last_words()
            return None
        # The first answer took as long as preparing the case did.
        self.seconds[case] = time.monotonic() - begin if case in self.seconds else 0
        return float(answer[1])

    def is_slow(self, case):
        return self.seconds.get(case, 0) > SLOW_SECONDS

    def last_words(self):
        """Ends the process; why it failed."""
        hung = (
            self.process.poll() is None and not select.select([self.process.stdout], [], [], 1)[0]
        )
        self.process.kill()
        self.process.wait()
        self.process = None
        if hung:
            return f"no answer within {PATIENCE_SECONDS} s"
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().splitlines() if line.strip()]
        return lines[-1] if lines else "it ended without a word"

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def gyre_command(folder, engine, threads, sample_ms):
    return [
        str(folder / "bin/bench/worker_bench"),
        f"--threads={threads}",
        f"--engine={engine}",
        f"--sample-ms={sample_ms}",
    ]


def python_command(root, party, threads, sample_ms):
    """Of a peer, or of Gyre's own Python."""
    venv, name = ("venv", "gyre") if party == GYRE_PYTHON else ("bench-venv", PEERS[party])
    return [
        str(root / "build" / venv / "bin/python"),
        str(root / "bench/peers/worker.py"),
        name,
        "--threads",
        str(threads),
        "--sample-ms",
        str(sample_ms),
    ]


class Samples:
    """What was measured: (party, case, threads) → nanoseconds per unit (or another figure) by
    round, None where there was no sample."""

    def __init__(self, workers, rounds):
        self.workers, self.rounds, self.taken = workers, rounds, {}

    def series(self, party, case, threads):
        return self.taken.get((party, case, threads), [None] * self.rounds)

    def take(self, order, parties_of):
        """`order`: (case, threads), neighbours where they are compared; parties_of(case, threads):
        who takes part.

        Every second round runs backwards, so that neither a drift of the machine nor what ran
        before favours anyone."""
        begin = time.monotonic()
        for number in range(self.rounds):
            if number % FRESH_ROUNDS == 0:
                self.begin_anew()
            steps = [
                (party, case, threads)
                for case, threads in order
                for party in parties_of(case, threads)
            ]
            for done, key in enumerate(steps if number % 2 == 0 else reversed(steps)):
                self.show_progress(begin, number, done / len(steps), key)
                self.take_one(number, key)
        show(f"{self.rounds} rounds in {time.monotonic() - begin:.0f} s", end="\n")

    def begin_anew(self):
        for (party, _), worker in self.workers.items():
            if party in (GYRE, GYRE_PYTHON):
                worker.stop()

    def take_one(self, number, key):
        party, case, threads = key
        worker = self.workers[party, threads]
        series = self.taken.setdefault(key, [None] * self.rounds)
        if party in (GYRE, GYRE_PYTHON) or number % SLOW_ROUNDS == 0 or not worker.is_slow(case):
            series[number] = worker.sample(case)

    def show_progress(self, begin, number, part, key):
        passed = time.monotonic() - begin
        left = passed / (number + part) * (self.rounds - number - part) if number else None
        load = os.getloadavg()[0]
        text = f"round {number + 1} of {self.rounds}, {passed:.0f} s" + (
            f", {left:.0f} s left" if left else ""
        )
        if sys.stderr.isatty():
            show(
                f"{text}, load {load:.1f}: {key[0]}, {key[1]}, {abs(key[2])} "
                f"thread{'s' * (key[2] > 1)}"
            )
        elif part == 0 and number % 5 in (0, 1):
            show(f"{text}, load {load:.1f}", end="\n")


def show(text, end=""):
    sys.stderr.write(("\r\033[K" if sys.stderr.isatty() else "") + text + end)
    sys.stderr.flush()
