"""Tables out of samples: what is compared with which limit, how it came out,
and the page docs/performance.md."""

import dataclasses

import medians
from workers import GYRE, GYRE_PYTHON, ONE_FREE

HOW_TO_READ = """\
Everything was measured in one run, interleaved: a round takes one short sample of every case from
every party, every second round in reverse. A figure is the median over the `n` rounds that have a
sample; the brackets hold its 95 % confidence interval, between order statistics. A ratio is the
median of the ratios within the rounds. **Verdicts:** a limit FAILS only where the whole interval
lies beyond it, is kept (ok) where none of it does, and is undecided in between. Where others kept
cores busy (see above) figures are inflated, those of two threads most.

- One thread: the process is pinned to one CPU. Two threads: to two CPUs. Where two threads are
  compared with one, the process of one thread has both CPUs too.
- Every case's result is checked before it is timed.
- Gyre is called from C++ through `Session::Callable`; the peers from Python, as their users do,
  with their arguments made ready beforehand. The rows of the null step say how much of a peer's run
  that is. Where it says "from Python", Gyre is, too.
- From Python: traces and first runs begin with the Python function. Where it is new, so are its
  source and its code each time: Gyre and TensorFlow have to convert it, while JAX has its control
  flow written out. JAX's trace ends with the program that XLA is to compile. An import is a process
  that imports the package and ends, less one that imports nothing, with what it imports compiled
  before. Memory: the most that such a process had.
- TensorFlow: `tf.function`, called as a concrete function. *TensorFlow v1*: a callable of a
  `Session`, on a graph whose loops are primitives. Grappler is on; inputs are fed, so that nothing
  can be computed ahead. The null step fetches an Identity, here and in the other peers.
- *TensorFlow XLA*: `tf.function(jit_compile=True)`, for gradients; the loops' most iterations are
  then known when it is compiled, and so are their numbers in JAX.
- JAX compiles a case, its loops included, to one native program: it has no ops, iterations or
  branches left to pay for. It is here as the bound that a compiler reaches.
- ONNX Runtime's loops use Loop's own trip count, not a counter in the body.
- A dash: the peer has no such thing. Recursion: none of them has it. Iterations that overlap:
  TensorFlow alone. Lists: JAX writes the rows of an array of known length, or collects what a scan
  yields; ONNX Runtime collects a Loop's outputs.
- Gradients: forward and backward in one run. What is "made" is the program of the gradients, of a
  program that is there; a first run includes writing and compiling all of it.
- PyTorch is not here: its package for Linux needs several gigabytes of CUDA libraries.
- A peer's samples that take more than a second are taken in every fifth round.
"""

WHERE_IT_IS = """\
The cases are programs in `bench/*_cases.h`, those from Python in `bench/peers/python_cases.py`; the
limits are in `bench/limits.json`, the peers' programs in `bench/peers/`. One case alone:
`./dev bench --case while_loop`. Under a profiler:
`build/bench/bin/bench/loops_bench --benchmark_filter=while_loop`; `bench/register.h` says how to
choose engine and threads."""


MEMORY = "MB, at most"  # the unit of figures that are no times


@dataclasses.dataclass
class Row:
    """One line of the limits: a case, perhaps less or over another one,
    or how much longer peers take (limits.json)."""

    what: str
    case: str
    party: str = GYRE
    unit: str = ""
    threads: int = 1
    less: str = ""
    over: str = ""
    over_threads: int = 0
    peers: tuple = ()  # the time of the fastest of these over Gyre's
    at_most_ns: float = None
    at_most: float = None
    at_least: float = None
    is_long: bool = False  # not for --quick
    why: str = ""  # where it is not kept: where the time goes, what was tried

    def keys(self):
        """The (case, threads) that it is computed from."""
        pairs = [(self.case, self.threads)]
        if self.less or self.over:
            pairs.append((self.less or self.over, self.over_threads or self.threads))
        return pairs

    def is_ratio(self):
        return bool(self.over or self.peers)

    def is_memory(self):
        return self.unit == MEMORY

    def show(self, value):
        return (
            f"{value:.3g} MB"
            if self.is_memory()
            else f"{value:.2f}"
            if self.is_ratio()
            else nanoseconds(value)
        )

    def series(self, samples, party):
        """Its value by round; None where a sample is missing."""
        if self.peers:
            columns = [
                samples.series(name, self.case, self.threads) for name in (party, *self.peers)
            ]
            return [
                None if None in times else min(times[1:]) / times[0]
                for times in zip(*columns, strict=True)
            ]
        columns = [samples.series(party, case, threads) for case, threads in self.keys()]
        if len(columns) == 1:
            return columns[0]
        return [
            None if None in pair else pair[0] - pair[1] if self.less else pair[0] / pair[1]
            for pair in zip(*columns, strict=True)
        ]

    def limit(self):
        if self.at_most_ns is not None:
            return f"≤ {nanoseconds(self.at_most_ns)}"
        if self.at_most is not None:
            return f"≤ {self.at_most:g}{' MB' * self.is_memory()}"
        return f"≥ {self.at_least:g}" if self.at_least is not None else "–"

    def bounds(self):
        at_most = self.at_most if self.at_most_ns is None else self.at_most_ns
        return {"at_most": at_most, "at_least": self.at_least} if at_most or self.at_least else None


def rows_of(limits, cpus):
    """The rows of limits.json, those that compare two threads with one, those that compare with
    peers, and those of Gyre's Python; only such as `cpus` CPUs can measure."""
    rows = [Row(**entry) for entry in limits["rows"]]
    beside = [Row(**entry) for entry in limits["times_of_peers"]]
    rule = limits["no_slower_on_two_threads"]
    two = [
        Row(
            what=case,
            case=case,
            threads=2,
            over=case,
            over_threads=ONE_FREE,
            at_most=rule["at_most"],
        )
        for case in rule["cases"]
    ]
    python = [Row(party=GYRE_PYTHON, **entry) for entry in limits["from_python"]]
    return [[row for row in table if row.threads <= cpus] for table in (rows, two, beside, python)]


def nanoseconds(value):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} ns"


def times(ratio):
    return f"{ratio:.3g}" if ratio >= 1 else f"{ratio:.2g}"


def present(series):
    return [value for value in series if value is not None]


def cell(row, median):
    return f"{row.show(median.value)} [{row.show(median.low)}, {row.show(median.high)}]"


def judge(row, samples):
    """(median or None, verdict) of Gyre's figure."""
    series = present(row.series(samples, row.party))
    if not series:
        return None, "no result" if row.bounds() else "–"
    median = medians.median_of(series)
    return median, medians.verdict(median, **row.bounds()) if row.bounds() else "–"


def notes_of(rows, samples):
    notes = [
        f"- {row.what}: {row.why}" for row in rows if row.why and judge(row, samples)[1] != "ok"
    ]
    return "\n\nNot kept, or not for certain:\n" + "\n".join(notes) if notes else ""


def limits_table(rows, samples):
    lines = [["measured", "threads", "unit", "Gyre [95 %]", "limit", "verdict", "n"]]
    for row in rows:
        median, verdict = judge(row, samples)
        lines.append(
            [
                row.what,
                str(row.threads),
                "ratio" if row.is_ratio() else row.unit,
                cell(row, median) if median else "–",
                row.limit(),
                verdict,
                str(median.count if median else 0),
            ]
        )
    return aligned(lines) + notes_of(rows, samples)


def times_table(rows, samples):
    lines = [["measured", "threads", "peers", "times Gyre's [95 %]", "limit", "verdict", "n"]]
    for row in rows:
        median, verdict = judge(row, samples)
        lines.append(
            [
                row.what,
                str(row.threads),
                ", ".join(row.peers),
                cell(row, median) if median else "–",
                row.limit(),
                verdict,
                str(median.count if median else 0),
            ]
        )
    return aligned(lines) + notes_of(rows, samples)


def peer_cell(row, samples, peer):
    theirs = row.series(samples, peer)
    if not present(theirs):
        return "–"
    median = medians.median_of(present(theirs))
    if row.is_ratio():
        return f"{median.value:.2f}"
    if row.less:  # differences of noisy figures may be near zero in some rounds: no ratios of those
        return nanoseconds(median.value)
    pairs = [
        their / own
        for their, own in zip(theirs, row.series(samples, row.party), strict=True)
        if their is not None and own
    ]
    if not pairs:
        return row.show(median.value)
    ratio = medians.median_of(pairs)
    return (
        f"{row.show(median.value)}, {times(ratio.value)}× [{times(ratio.low)}, {times(ratio.high)}]"
    )


def peers_table(rows, samples, peers):
    peers = [peer for peer in peers if any(present(row.series(samples, peer)) for row in rows)]
    lines = [["measured", "threads", "unit", "Gyre"] + peers]
    for row in rows:
        cells = [peer_cell(row, samples, peer) for peer in peers]
        median, _ = judge(row, samples)
        if median and any(text != "–" for text in cells):
            unit = "ratio" if row.is_ratio() else row.unit
            lines.append([row.what, str(row.threads), unit, row.show(median.value)] + cells)
    return aligned(lines)


def aligned(lines):
    """A Markdown table that can be read as it is."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def sections(tables, samples, peers):
    """(title, text) of what was measured."""
    rows, two, beside, python = tables
    found = [("Limits", limits_table(rows, samples))] if rows else []
    if two:
        found.append(("Two threads over one: no case may be slower", limits_table(two, samples)))
    if beside:
        found.append(
            (
                "Limits beside peers: the time of the fastest of them over Gyre's",
                times_table(beside, samples),
            )
        )
    if python:
        found.append(("Limits, from Python", limits_table(python, samples)))
    if peers and rows:
        found.append(("Peers: time, and how many times Gyre's", peers_table(rows, samples, peers)))
    if peers and python:
        found.append(("Peers, from Python", peers_table(python, samples, peers)))
    return found


def page(found, facts, engine, versions, rounds):
    """docs/performance.md."""
    about = "\n".join(
        f"| {name} | {value} |"
        for name, value in [*facts, ("engine", engine), *versions.items(), ("rounds", str(rounds))]
    )
    parts = [
        "# Performance",
        "Generated by `./dev bench --peers --write docs/performance.md`; not to be edited.",
        f"## Machine\n\n| | |\n|---|---|\n{about}",
        *[f"## {title}\n\n{text}" for title, text in found],
        f"## How to read this\n\n{HOW_TO_READ}".rstrip(),
        WHERE_IT_IS,
    ]
    return "\n\n".join(parts) + "\n"
