"""gyre.progress: a line that tells how far the loops of a long run are."""

import functools
import sys

from gyre._impl.function import watching
from gyre._impl.locks import lock

_LONGEST = 79  # letters: a line that wraps cannot be drawn over


class progress:
    """Shows on stderr how far the loops are of functions and sessions that run meanwhile.

        with gyre.progress("training", total=10_000):
            train(data)

        @gyre.progress()
        def main(): …

    One line, drawn anew: what it is, iterations of each loop around the op that runs, outermost
    first, their rate, the time, and with `total` (iterations of the outermost loop) a bar and the
    time left. Runs shorter than `after` seconds show nothing. Functions that run without it, or
    where stderr is no terminal (unless file is given), pay nothing.

    callback: is called with what there is to tell instead: {"node", "waiting", "nanos", "loops":
    [{"name", "iteration"}, …]}. Its exceptions end the run."""

    def __init__(self, label="", *, total=None, every=0.2, after=0.5, file=None, callback=None):
        if every <= 0:
            raise ValueError(f"every must be more than 0 seconds, not {every}")
        self.label, self.total, self.every, self.after = label, total, every, after
        self._file, self._callback = file, callback
        self._lock = lock()
        self._tokens = []
        self._drawn = False
        self._last = None

    def __enter__(self):
        stream = self._file or sys.stderr
        on = self._callback or self._file or (hasattr(stream, "isatty") and stream.isatty())
        self._tokens.append(watching.begin(self) if on else None)
        return self

    def __exit__(self, *error):
        token = self._tokens.pop()
        if token is not None:
            watching.end(token)
        self._clear()

    def __call__(self, fn):
        @functools.wraps(fn)
        def run(*args, **kwargs):
            with self:
                return fn(*args, **kwargs)

        return run

    @property
    def options(self):
        """What `Executable.run` takes to report here."""
        return {
            "progress": self._callback or self._tell,
            "progress_ms": max(1, int(self.every * 1000)),
        }

    def _tell(self, told):
        with self._lock:
            if told["nanos"] < self.after * 1e9:
                return
            self._draw(line(told, self._last, self.label, self.total))
            self._last = told

    def finished(self):
        """A run has ended: the next one begins anew."""
        with self._lock:
            self._last = None

    def _draw(self, text):
        stream = self._file or sys.stderr
        stream.write("\r\x1b[K" + text[:_LONGEST])
        stream.flush()
        self._drawn = True

    def _clear(self):
        with self._lock:
            if self._drawn:
                stream = self._file or sys.stderr
                stream.write("\r\x1b[K")
                stream.flush()
            self._drawn, self._last = False, None


def line(told, last=None, label="", total=None):
    """What is told, as one line. last: what was told before, for rates."""
    loops, seconds = told["loops"], told["nanos"] / 1e9
    parts = [f"{label}: "] if label else []
    if loops and total:
        share = min(max(loops[0]["iteration"] / total, 0.0), 1.0)
        parts.append(f"{share:4.0%} |{'█' * int(share * 12):<12}| ")
    told_loops = []
    for depth, loop in enumerate(loops):
        of = f"/{total}" if total and depth == 0 else ""
        rate = _rate(told, last, depth)
        told_loops.append(
            f"{loop['name']} {loop['iteration']}{of}" + (f" ({_per_second(rate)})" if rate else "")
        )
    parts.append(" › ".join(told_loops) or f"at {told['node']}")
    parts.append(f"  {_clock(seconds)}")
    if loops and total and loops[0]["iteration"]:
        parts.append(f" < {_clock(seconds * max(total / loops[0]['iteration'] - 1, 0))}")
    if told["waiting"]:
        parts.append(f"  waiting for {told['node']}")
    text = "".join(parts)
    return "".join(c if c.isprintable() else "?" for c in text)


def _rate(told, last, depth):
    """Iterations per second of one loop; 0 where it cannot be told."""
    loops = told["loops"]
    if depth == 0 and last is None:
        return loops[0]["iteration"] / told["nanos"] * 1e9
    if last is None or len(last["loops"]) <= depth or told["nanos"] <= last["nanos"]:
        return 0.0
    before = last["loops"]
    names = [[loop["name"] for loop in seen[: depth + 1]] for seen in (before, loops)]
    if names[0] != names[1] or any(
        a["iteration"] != b["iteration"] for a, b in zip(before[:depth], loops[:depth], strict=True)
    ):
        return 0.0
    return (
        max(loops[depth]["iteration"] - before[depth]["iteration"], 0)
        / (told["nanos"] - last["nanos"])
        * 1e9
    )


def _per_second(rate):
    return f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
