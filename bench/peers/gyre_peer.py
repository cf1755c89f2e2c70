"""Gyre's own Python package, beside its peers."""

import gyre
import python_cases

VERSION = gyre.__version__


def configure(threads):
    gyre.config.threading.set_intra_op_parallelism_threads(threads)


def cases(threads):
    del threads  # configure() has said it
    return python_cases.cases(gyre, "gyre")
