"""All-reduce among ranks of this machine: eagerly, in a loop of a graph, and by Gloo.

    build/venv/bin/python bench/all_reduce.py [--ranks N] [--rounds N] [--gloo]

Each round measures every way once, so that what else the machine does hits all of them alike; the
median of the rounds is shown, and its ratio to Gloo's. Each is in place where it can be: Gloo
always, a loop of a graph from its second iteration on, eager calls never. --gloo needs g++ and
Debian's libgloo-dev.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Bytes, and how often in a round.
SIZES = {4: 500, 64 << 10: 200, 64 << 20: 3}
_RANK = """
import sys, time
import numpy as np
import gyre
from gyre import distribute

gyre.cluster.init(transport=sys.argv[1])

@gyre.function
def loop(x, n):
    for _ in gyre.range(n):
        x = distribute.all_reduce(x, "mean")
    return x

def eager(x, n):
    for _ in range(n):
        distribute.all_reduce(x)

way = {"eager": eager, "loop": loop}[sys.argv[2]]
for line in sys.stdin:
    elements, repeats = map(int, line.split())
    x = gyre.constant(np.zeros(elements, np.float32))
    repeats = gyre.constant(repeats) if way is loop else repeats
    way(x, gyre.constant(1) if way is loop else 1)
    distribute.barrier()
    x = gyre.constant(np.zeros(elements, np.float32))
    begin = time.perf_counter()
    way(x, repeats)
    print(time.perf_counter() - begin, flush=True)
"""


class Ranks:
    """Processes that measure what they are told, each on a line."""

    def __init__(self, commands, environments):
        self.processes = [
            subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for command, environment in zip(commands, environments, strict=True)
        ]

    def measure(self, elements: int, repeats: int) -> float:
        """Seconds for one, as the slowest rank has it."""
        for process in self.processes:
            process.stdin.write(f"{elements} {repeats}\n")
            process.stdin.flush()
        return max(float(process.stdout.readline()) for process in self.processes) / repeats

    def close(self) -> None:
        """Ends them."""
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait()


def gyre_ranks(n: int, transport: str, way: str) -> Ranks:
    """Ranks of Gyre."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        hosts = ",".join([f"127.0.0.1:{probe.getsockname()[1]}"] * n)
    program = Path(tempfile.mkdtemp()) / "rank.py"  # a file: sources of functions are read
    program.write_text(_RANK)
    command = [sys.executable, program]
    return Ranks(
        [[*command, transport, way]] * n,
        [{"GYRE_HOSTS": hosts, "GYRE_RANK": str(rank)} for rank in range(n)],
    )


def gloo_ranks(n: int) -> Ranks:
    """Ranks of Gloo."""
    folder = Path(tempfile.mkdtemp())
    program = folder / "gloo_all_reduce"
    source = Path(__file__).parent / "peers/gloo_all_reduce.cc"
    subprocess.run(["g++", "-O2", "-std=c++17", source, "-lgloo", "-o", program], check=True)
    (folder / "store").mkdir()
    return Ranks([[program, str(rank), str(n), folder / "store"] for rank in range(n)], [{}] * n)


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--gloo", action="store_true")
    options = parser.parse_args()
    ways = {
        f"Gyre, {way}, {transport}": gyre_ranks(options.ranks, transport, way)
        for transport in ("memory", "tcp")
        for way in ("eager", "loop")
    }
    if options.gloo:
        ways["Gloo, tcp"] = gloo_ranks(options.ranks)
    times = {(way, size): [] for way in ways for size in SIZES}
    for _ in range(options.rounds):
        for size, repeats in SIZES.items():
            for way, ranks in ways.items():
                times[way, size].append(ranks.measure(size // 4, repeats))
    for ranks in ways.values():
        ranks.close()
    print(f"{'µs, median':24}" + "".join(f"{size:>14} B" for size in SIZES))
    for way in ways:
        row = [statistics.median(times[way, size]) * 1e6 for size in SIZES]
        gloo = [statistics.median(times.get(("Gloo, tcp", size), [0])) * 1e6 for size in SIZES]
        print(f"{way:24}" + "".join(f"{time:16.1f}" for time in row))
        if gloo[0] and not way.startswith("Gloo"):
            ratios = (f"{g / time:15.2f}x" for g, time in zip(gloo, row, strict=True))
            print(f"{'':24}" + "".join(ratios))


if __name__ == "__main__":
    main()
