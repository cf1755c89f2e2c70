#!/usr/bin/env python3
"""Measures Gyre against its limits and, with --peers, beside TensorFlow, JAX and ONNX Runtime,
interleaved in one run.

    ./dev bench [--peers] [--quick] [--case NAME]... [--rounds N] [--engine NAME] [--write FILE]

Needs the build of the preset `bench`, the Python module in build/venv, and for --peers the virtual
environment build/bench-venv; ./dev bench makes them.
Ends with 1 where a limit is not met (by 30 rounds or more) or a case fails.
"""

import argparse
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import machine  # noqa: E402
import report  # noqa: E402
import workers  # noqa: E402
from workers import GYRE, GYRE_PYTHON, PEERS  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, SAMPLE_MS = 31, 30
# Limits are judged on at least so many pairs.
JUDGED_ROUNDS = 30
# Six is the fewest rounds that have a 95 % interval.
QUICK_ROUNDS, QUICK_SAMPLE_MS = 6, 10


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description="Measures Gyre against its limits and its peers."
    )
    parser.add_argument("--peers", action="store_true", help="measure the peers too")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_ROUNDS} rounds of shorter samples, without the longest cases",
    )
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only cases whose name contains NAME"
    )
    parser.add_argument("--rounds", type=int, help=f"default {ROUNDS}")
    parser.add_argument("--engine", default="dataflow", help="Gyre's engine")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="also write the page (docs/performance.md)"
    )
    options = parser.parse_args()
    if options.rounds is not None and options.rounds < QUICK_ROUNDS:
        parser.error(f"a 95 % interval needs {QUICK_ROUNDS} rounds")
    options.sample_ms = QUICK_SAMPLE_MS if options.quick else SAMPLE_MS
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    return options


def chosen_rows(options):
    """The tables of rows that the options leave; ends the process where they leave none."""
    limits = json.loads((ROOT / "bench/limits.json").read_text(encoding="utf-8"))
    tables = report.rows_of(limits, len(os.sched_getaffinity(0)))
    if not options.peers:
        tables[2] = []
    if options.quick:
        tables = [[row for row in table if not row.is_long] for table in tables]
    if not options.case:
        return tables
    kept = [
        [row for row in table if any(name in row.case for name in options.case)] for table in tables
    ]
    if not any(kept):
        names = sorted({row.case for table in tables for row in table})
        sys.exit(
            f"no case is called {' or '.join(options.case)}; there are\n  " + "\n  ".join(names)
        )
    return kept


def plan(tables):
    """The (case, threads) to measure, neighbours where a row compares them, each with the party of
    Gyre's that has it; those in which the peers take part."""
    order = list(dict.fromkeys(key for table in tables for row in table for key in row.keys()))
    position = {case: number for number, (case, _) in reversed(list(enumerate(order)))}
    order.sort(key=lambda key: (position[key[0]], key[1]))
    own = {key: row.party for table in tables for row in table for key in row.keys()}
    with_peers = {
        key for table in (tables[0], tables[2], tables[3]) for row in table for key in row.keys()
    }
    return {key: own[key] for key in order}, with_peers


def start_workers(options, peers):
    """The processes by (party, threads); ends this one where their programs are missing."""
    parties = {}
    for threads in (1, 2):
        command = workers.gyre_command(
            ROOT / "build/bench", options.engine, threads, options.sample_ms
        )
        parties[GYRE, threads] = workers.Worker(command, threads)
        for peer in peers:
            command = workers.python_command(ROOT, peer, threads, options.sample_ms)
            parties[peer, threads] = workers.Worker(command, threads)
    command = workers.gyre_command(ROOT / "build/bench", options.engine, 1, options.sample_ms)
    parties[GYRE, workers.ONE_FREE] = workers.Worker(command, 2)
    command = workers.python_command(ROOT, GYRE_PYTHON, 1, options.sample_ms)
    parties[GYRE_PYTHON, 1] = workers.Worker(command, 1)
    missing = {
        worker.command[0]
        for worker in parties.values()
        if not os.access(worker.command[0], os.X_OK)
    }
    if missing:
        sys.exit(
            f"there is no {' nor '.join(sorted(missing))}; ./dev bench "
            f"{'--peers ' if peers else ''}makes it"
        )
    return parties


def version_of(parties, party):
    known = [
        worker.version for (name, _), worker in parties.items() if name == party and worker.version
    ]
    return known[0] if known else "unknown"


def main():
    options = parse_arguments()
    tables = chosen_rows(options)
    peers = list(PEERS) if options.peers else []
    load_before, neighbours = machine.load(), machine.Neighbours()
    parties = start_workers(options, peers)
    order, with_peers = plan(tables)
    samples = workers.Samples(parties, options.rounds)
    samples.take(order, lambda *key: [order[key]] + (peers if key in with_peers else []))
    for worker in parties.values():
        worker.stop()

    facts = machine.describe(ROOT / "build/bench", load_before, neighbours)
    versions = {peer: version_of(parties, peer) for peer in peers}
    engine = version_of(parties, GYRE)
    found = report.sections(tables, samples, peers)
    for name, value in [*facts, ("engine", engine), *versions.items()]:
        print(f"{name}: {value}")
    for title, text in found:
        print(f"\n{title}\n\n{text}")
    if options.write:
        options.write.write_text(
            report.page(found, facts, engine, versions, options.rounds), encoding="utf-8"
        )
    return conclude(tables, samples, parties)


def conclude(tables, samples, parties):
    failures = [
        f"{party}, {case}, {abs(threads)} threads: {why}"
        for (party, threads), worker in parties.items()
        for case, why in worker.failures.items()
    ]
    if failures:
        print("\nFailed, and not measured:\n  " + "\n  ".join(failures))
    verdicts = [report.judge(row, samples)[1] for table in tables for row in table if row.bounds()]
    broken = verdicts.count("FAILS") + verdicts.count("no result")
    print(
        f"\n{verdicts.count('ok')} within their limits, {broken} not, "
        f"{verdicts.count('undecided')} undecided"
    )
    if samples.rounds < JUDGED_ROUNDS:
        print(f"(of {samples.rounds} rounds; limits are judged on {JUDGED_ROUNDS} and more)")
        broken = 0
    return 1 if broken or failures else 0


if __name__ == "__main__":
    sys.exit(main())
