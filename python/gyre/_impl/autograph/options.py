"""Options of the loops that plain Python becomes."""

import enum

NAMES = ("parallel_iterations", "swap_memory", "maximum_iterations", "shape_invariants", "memory")


def set_loop_options(
    parallel_iterations=None,
    swap_memory=None,
    maximum_iterations=None,
    shape_invariants=None,
    memory=None,
):
    """The first statement of a loop's body; says how the loop is to be traced. Does nothing else.

    parallel_iterations: how many iterations may be in flight at once (10).
    maximum_iterations: the loop ends after this many, whatever its condition says.
    shape_invariants: [(variable, shape)]: shapes that hold in all iterations. Others are found out.
    memory: what a gradient keeps: "save", "recompute(k)", "checkpoint(bytes)".
    swap_memory: taken, and of no effect."""


class Feature(enum.Enum):
    """Optional parts of the conversion. All are always on: the names are there for programs that
    mention them."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all_but(cls, exclude):
        """All features but these."""
        excluded = exclude if isinstance(exclude, (tuple, list, set)) else (exclude,)
        return tuple(
            feature for feature in cls if feature not in excluded and feature is not cls.ALL
        )
