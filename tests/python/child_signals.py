"""The signals of a child process, and the time that it computes.

Its signals are those of a program that a shell starts in the foreground.

A child inherits what its parent ignores and blocks. Tests may run in the background, where SIGINT
is ignored: Python then does not make KeyboardInterrupt of it."""

import signal
import time


def set_default_signals():
    """Called in the child, before its program: `Popen(..., preexec_fn=set_default_signals)`."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def computed_by(process):
    """The time for which the threads of another process have run, in seconds,
    as its own time.process_time()."""
    return time.clock_gettime((~process.pid << 3) | 2)  # what clock_getcpuclockid gives
