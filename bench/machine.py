"""What the figures were measured on. Nothing that names the machine, its owner or its folders."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path


def first_match(path, pattern):
    found = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def compiler(folder):
    """The compiler that CMake used for the build at `folder`."""
    path = first_match(folder / "CMakeCache.txt", r"^CMAKE_CXX_COMPILER:\w+=(.*)$")
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return answer.splitlines()[0]


def busy_seconds():
    """CPU time that all processes of the machine have used, and what its host took from it."""
    ticks = first_match("/proc/stat", r"^cpu (.*)$").split()
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = (
        int(tick) for tick in ticks[:8]
    )
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")


class Neighbours:
    """How much of the machine others use from now on."""

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        own = os.times()
        return busy_seconds() - sum(own[:4]), own.elapsed

    def cores(self):
        """On average, in cores. Requirement: the processes that this one has started have ended."""
        used, elapsed = (end - begin for begin, end in zip(self.begin, self.now(), strict=True))
        return max(0.0, used / max(elapsed, 1e-9))


def load():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def describe(folder, load_before, neighbours):
    """(what, value) pairs."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    virtual = "hypervisor" in first_match("/proc/cpuinfo", r"^flags\s*:(.*)$").split()
    cores = len(os.sched_getaffinity(0))
    return [
        ("date", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        (
            "processor",
            first_match("/proc/cpuinfo", r"^model name\s*:(.*)$")
            + f", {cores} core{'s' * (cores > 1)}"
            + (", of a virtual machine" if virtual else ""),
        ),
        ("memory", f"{gib:.0f} GiB"),
        (
            "system",
            (
                f"{platform.system()} {platform.release()}, {platform.libc_ver()[0]} "
                f"{platform.libc_ver()[1]}"
            ),
        ),
        ("compiler", compiler(folder)),
        ("load average before (1, 5, 15 minutes)", load_before),
        ("load average after", load()),
        ("cores that others kept busy meanwhile", f"{neighbours.cores():.2f}"),
    ]
