"""gyre.check: folders of golden graphs, run by the core, as by the command line."""

import os
import re
from typing import NamedTuple

from gyre import _gyre

_ENTRY = re.compile(r"^(FAIL|skip)  (.+?): (.*)$")


class CheckReport(NamedTuple):
    """What `gyre.check` found. failures, skips: by name of the case (and of the part of it), why.
    text: what the command line prints."""

    passed: int
    failed: int
    skipped: int
    failures: dict[str, str]
    skips: dict[str, str]
    text: str


def check(folder, **options) -> CheckReport:
    """Runs every golden case at or below a folder, and says what differs from what must come out.

    Options are those of the command line (`gyre help check`): engine="reference", only="while_v1"
    or a list of groups, tags and names, jobs=2, form="optimized", timeout=1000, ….
    ValueError, in the command line's words, for a folder or an option that there is not."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if isinstance(value, (list, tuple)):
            words.append(",".join(map(str, value)))
        elif value is not True:
            words.append(str(value))
    told = _gyre.check_golden(os.fspath(folder), words)
    if told["code"] not in (0, 1):
        raise ValueError(told["errors"].partition("\n")[0])
    found = {"FAIL": {}, "skip": {}}
    current = None
    for line in told["output"].splitlines()[:-1]:
        entry = _ENTRY.match(line)
        if entry:
            current = found[entry[1]], entry[2]
            current[0][current[1]] = entry[3]
        elif current:  # reasons may have several lines
            current[0][current[1]] += "\n" + line
    return CheckReport(
        told["passed"],
        told["failed"],
        told["skipped"],
        found["FAIL"],
        found["skip"],
        told["output"],
    )
