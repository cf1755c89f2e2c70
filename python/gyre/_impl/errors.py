"""The errors of running and building programs: one class per canonical code."""

import functools
import os
import re
import traceback

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = range(7)
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = range(7, 12)
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(12, 17)

# How the core says that a tensor of one graph or body is used in another.
_OUT_OF_REACH = re.compile(r"^'.*' (belongs to|was made in|is) .*and cannot be used in ", re.DOTALL)
# How kernels say that an item is not there.
_OUT_OF_RANGE = re.compile(
    r"^(slice index -?\d+ of dimension \d+ out of bounds|"
    r"Trying to (access|modify) element -?\d+ in a list with|"
    r"indices(\[[\d,]*\])? = \[.*\] does not index into )"
)
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
        self._tell(node_def, op, message)

    def _tell(self, node_def, op, message: str) -> None:
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


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """An item is read or assigned at an index that is out of range, of a tensor or of a list that a
    traced loop changes: known while tracing, or found by a run."""


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


class GraphSizeError(ResourceExhaustedError):
    """A graph has grown beyond gyre.config.set_graph_size_limit:
    Python that does not end, mostly."""

    def __init__(self, where: str, loop: str | None = None):
        what = (
            f"The {loop} runs over Python values, and adds its body to the graph each time"
            if loop
            else "A loop, a comprehension or a generator of Python adds its body to the graph each "
            "time"
        )
        super().__init__(
            None,
            None,
            f"{where}. {what}: run over the dataset itself, over gyre.range or over a "
            "tensor, or make the test a tensor, and the body is traced once. If the graph is "
            f"meant to be so large, gyre.config.set_graph_size_limit(operations) raises the limit",
        )
        self._where, self.loop = where, loop

    def in_loop(self, loop: str) -> "GraphSizeError":
        """The same error, which names the loop."""
        return GraphSizeError(self._where, loop)

    def __reduce__(self):
        return GraphSizeError, (self._where, self.loop)


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


class NoGradientError(UnimplementedError, LookupError):
    """An operation has no gradient, or forbids it. Also a LookupError."""


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


class InaccessibleTensorError(InvalidArgumentError, TypeError):
    """A tensor of one graph or body was used in another, where it cannot be reached."""


class StructureError(TypeError, ValueError):
    """Branches, or a loop's body, return another structure or other dtypes than they must."""


_BY_CODE = {cls.code: cls for cls in OpError.__subclasses__()}


def from_status(code: str, message: str, system_error: int = 0) -> OpError:
    """The exception of a status of the core, by the name of its code; or of an index, or a graph's
    size. system_error: the errno of the call of the operating system that it is about; then it is
    the OSError of that, too."""
    if system_error:
        kind = _BY_CODE.get(globals().get(code, UNKNOWN), UnknownError)
        return _of_system(kind, system_error)(None, None, message)
    if code == "INDEX_ERROR" or code == "INVALID_ARGUMENT" and _OUT_OF_RANGE.search(message):
        return IndexOutOfRangeError(None, None, message)
    if code == "GRAPH_SIZE_ERROR":
        return GraphSizeError(message)
    if code == "INVALID_ARGUMENT" and _OUT_OF_REACH.search(message):
        return InaccessibleTensorError(None, None, message)
    return _BY_CODE.get(globals().get(code, UNKNOWN), UnknownError)(None, None, message)


@functools.cache
def _of_system(kind: type[OpError], number: int) -> type[OpError]:
    """The class of an error of the core that is about a call of the operating system."""

    code = next(name for name, value in globals().items() if name.isupper() and value == kind.code)

    def begin(self, node_def, op, message, *args):
        kind.__init__(self, node_def, op, message, *args)
        self.errno, self.strerror, self.filename = number, os.strerror(number), None

    def reduce(self):
        return from_status, (code, self.message, number)

    members = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__init__": begin,
        "__str__": lambda self: self.message,
        "__reduce__": reduce,
    }
    return type(kind.__name__, (kind, type(OSError(number, ""))), members)


def exception_type_from_error_code(code: int) -> type[OpError]:
    """The class of a canonical code."""
    return _BY_CODE[code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The canonical code of a class."""
    return cls.code


class UnsupportedValueError(TypeError):
    """A function of numpy arrays returned what cannot be a tensor."""


# What the exceptions of host functions count as.
_OF_PYTHON = (
    (UnsupportedValueError, InternalError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)
_host_classes: dict[tuple[type, type], type[OpError]] = {}


def of_host_function(error: Exception, with_frames: bool = False) -> Exception:
    """What a run raises where a host function raised `error`: of its class and of that of the
    OpError that fits, with its traceback and attributes. An OpError stays as it is. with_frames:
    the message says the frames, too, as TensorFlow's of sessions do."""
    if isinstance(error, OpError):
        return error
    kind = next((ours for theirs, ours in _OF_PYTHON if isinstance(error, theirs)), UnknownError)
    message = f"{type(error).__name__}: {error}"
    if with_frames:
        message += "\n" + "".join(traceback.format_exception(error)).rstrip()
    try:
        cls = _host_class(kind, type(error))
        raised = cls.__new__(cls, None, None, message)
        raised.args = None, None, message
        raised._tell(None, None, message)  # not __init__, which may be theirs
    except Exception:  # a class that cannot be combined, or made without its own arguments
        raised = kind(None, None, message)
    raised.__dict__.update({k: v for k, v in vars(error).items() if k not in raised.__dict__})
    return raised.with_traceback(error.__traceback__)


def _host_class(kind: type["OpError"], theirs: type) -> type["OpError"]:
    if issubclass(kind, theirs):
        return kind
    if (kind, theirs) not in _host_classes:
        _host_classes[kind, theirs] = type(kind.__name__, (kind, theirs), {"__module__": __name__})
    return _host_classes[kind, theirs]
