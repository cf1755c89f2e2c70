"""Medians with confidence intervals, and what they say about a limit."""

import dataclasses
import math


@dataclasses.dataclass
class Median:
    value: float
    # with `high`: the interval that holds the true median with the probability `coverage`
    low: float
    high: float
    count: int
    coverage: float


def median_of(samples, coverage=0.95):
    """The median of `samples`, with the interval between the order statistics that a count of coin
    tosses gives.

    No shape of the distribution is assumed. Below six samples no such interval reaches 95 %: theirs
    is all they span.
    """
    ordered, n = sorted(samples), len(samples)
    middle = ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2
    rank, tail = 0, 0.5**n  # tail: the probability of at most `rank` of n below the median
    while rank + 1 < n / 2 and tail + math.comb(n, rank + 1) * 0.5**n <= (1 - coverage) / 2:
        rank += 1
        tail += math.comb(n, rank) * 0.5**n
    return Median(middle, ordered[rank], ordered[n - 1 - rank], n, 1 - 2 * tail)


def verdict(median, at_most=None, at_least=None):
    """A limit fails only where the whole interval is beyond it,
    and is kept for certain where none of it is."""
    if at_most is not None:
        kept, broken = median.high <= at_most, median.low > at_most
    else:
        kept, broken = median.low >= at_least, median.high < at_least
    return "ok" if kept else "FAILS" if broken else "undecided"
