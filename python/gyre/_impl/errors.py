"""The errors of running and building programs: one class per canonical code."""

import re

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = range(7)
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = range(7, 12)
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(12, 17)

_NODE = re.compile(r"at node (?P<name>\S+) \((?P<op>\w+)\)")


class OpError(Exception):
    """What went wrong while a program was built or run.

    `message` says what, where (node, loop, iteration, branch, source line) and what to do;
    `node` and `node_op` are the name and the op of the node, where the message names one;
    `error_code` is the canonical code.
    """

    code = UNKNOWN

    def __init__(self, node_def, op, message: str, *args):
        super().__init__(node_def, op, message, *args)
        self._node_def, self._op, self._message = node_def, op, message
        place = _NODE.search(message or "")
        self.node = place["name"] if place else None
        self.node_op = place["op"] if place else None

    @property
    def message(self) -> str:
        """What went wrong."""
        return self._message

    @property
    def error_code(self) -> int:
        """The canonical code."""
        return self.code

    @property
    def op(self):
        """The operation, where one is known."""
        return self._op

    @property
    def node_def(self):
        """The node, where one is known."""
        return self._node_def

    def __reduce__(self):
        return type(self), (self._node_def, self._op, self._message)

    def __str__(self) -> str:
        return self._message


class CancelledError(OpError):
    """The run was cancelled."""

    code = CANCELLED


class UnknownError(OpError):
    """An error of which no more is known, such as one of a host function."""

    code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An argument, a shape or a type does not fit. Also a ValueError."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The time allowed for a run was over before it was done."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """Something that was named (a node, a variable, a file) is not there."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """What was to be made is there already."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The file system, or another service, refused."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    """Memory, or a budget of it, does not suffice. Also a MemoryError."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The state of something does not allow it: a variable has no value yet."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """Something else that happened meanwhile made it stop."""

    code = ABORTED


class OutOfRangeError(OpError):
    """Past the end: of a queue that is closed, of a sequence."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """Not supported, such as a gradient that does not exist. Also a NotImplementedError."""

    code = UNIMPLEMENTED


class InternalError(OpError):
    """A bug in Gyre; the message says which invariant does not hold."""

    code = INTERNAL


class UnavailableError(OpError):
    """Not reachable now; trying again may help."""

    code = UNAVAILABLE


class DataLossError(OpError):
    """Data is damaged or lost."""

    code = DATA_LOSS


class UnauthenticatedError(OpError):
    """Who asks did not say who that is."""

    code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used where Python needs a value: as the condition of an `if`, …"""


class InaccessibleTensorError(ValueError):
    """A tensor of one graph or body was used in another, where it cannot be reached."""


_BY_CODE = {cls.code: cls for cls in OpError.__subclasses__()}


def from_status(code: str, message: str) -> OpError:
    """The exception of a status of the core, by the name of its code."""
    return _BY_CODE.get(globals().get(code, UNKNOWN), UnknownError)(None, None, message)


def exception_type_from_error_code(code: int) -> type[OpError]:
    """The class of a canonical code."""
    return _BY_CODE[code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The canonical code of a class."""
    return cls.code
