"""Calls in converted code: the function that is called is converted, too,
where it is the user's."""

import contextlib
import functools
import sys
import types

from gyre import _gyre
from gyre._impl.autograph import maths, objects, operators, source
from gyre._impl.autograph.builtins import OVERLOADS
from gyre._impl.tracing import effects
from gyre._impl.tracing.lines import is_ours
from gyre._impl.tracing.lists import TracedList

_NOT_CONVERTED = frozenset(
    (
        "gyre",
        "numpy",
        "collections",
        "copy",
        "inspect",
        "re",
        "pdb",
        "threading",
        "functools",
        "itertools",
        "contextlib",
        "dataclasses",
        "enum",
        "typing",
        "abc",
        "logging",
        "warnings",
        "random",
        "unittest",
        "pytest",
        "_pytest",
        "hypothesis",
        "torch",
        "keras",
        "optree",
        "jax",
        "pandas",
        "scipy",
        "matplotlib",
        "ml_dtypes",
        "builtins",
        "operator",
        "math",
        "string",
        "json",
        "time",
        "datetime",
        "os",
        "sys",
        "weakref",
        "types",
        "ast",
        "traceback",
        "io",
        "pathlib",
        "argparse",
        "concurrent",
        "multiprocessing",
    )
)


def converted_call(fn, args, kwargs, scope=None):
    """fn(*args, **kwargs), of converted code."""
    kwargs = kwargs or {}
    kind = type(fn)
    if kind is types.FunctionType or kind is types.MethodType:
        return _call_function(fn, args, kwargs)
    if kind is types.BuiltinFunctionType or kind is type or kind is types.MethodWrapperType:
        return _call_builtin(fn, args, kwargs, scope)
    if kind is functools.partial:
        return converted_call(fn.func, (*fn.args, *args), {**fn.keywords, **kwargs}, scope)
    if isinstance(fn, type):
        return objects.construct(fn, args, kwargs)
    if isinstance(getattr(fn, "__origin__", None), type) and hasattr(fn, "__args__"):
        return objects.construct_generic(fn, args, kwargs)
    call = getattr(kind, "__call__", None)
    if type(call) is types.FunctionType:
        return _call_function(types.MethodType(call, fn), args, kwargs)
    return fn(*args, **kwargs)


@contextlib.contextmanager
def _context():
    yield


_CONTEXT_CODE = _context.__code__  # of what @contextmanager makes


def _call_function(fn, args, kwargs):
    if (
        fn.__code__ is _CONTEXT_CODE
        and hasattr(fn, "__wrapped__")
        and not _is_gyres(fn.__wrapped__)
    ):
        generator = fn.__wrapped__
        return contextlib.contextmanager(convert_or_none(generator) or generator)(*args, **kwargs)
    if _is_gyres(fn):
        return _call_gyre(fn, args, kwargs)
    converted = convert_or_none(fn)
    return (fn if converted is None else converted)(*args, **kwargs)


def _is_gyres(fn):
    """Whether a function is part of Gyre; decorators of Gyre's bear the module of what they
    decorate."""
    module = getattr(fn, "__module__", None) or ""
    return module == "gyre" or module.startswith("gyre.") or is_ours(fn.__code__.co_filename)


def converted_form(fn):
    """What stands for a callable of the user's while a graph is traced."""
    if isinstance(fn, (types.FunctionType, types.MethodType)):
        return fn if _is_gyres(fn) else convert_or_none(fn) or fn
    if isinstance(fn, _gyre.QuietCallable) or not _is_plain_object(fn):
        return fn
    return functools.partial(_call_converted, fn)


def _is_plain_object(fn):
    kind = type(fn)
    return kind is functools.partial or isinstance(
        getattr(kind, "__call__", None), types.FunctionType
    )


def _call_converted(fn, /, *args, **kwargs):
    return converted_call(fn, args, kwargs)


def convert_or_none(fn):
    """The converted form of a function or bound method; None if it runs as it is."""
    function = fn.__func__ if isinstance(fn, types.MethodType) else fn
    if not isinstance(function, types.FunctionType) or hasattr(function, "autograph_info__"):
        return None
    found = function.__dict__.get("_gyre_converted")
    if found is None or found[0] is not function.__code__:  # wrappers copy attributes
        found = function._gyre_converted = (function.__code__, _convert(function))
    converted = found[1]
    if converted is not None and function is not fn:
        return types.MethodType(converted, fn.__self__)
    return converted


def _convert(function):
    if (function.__module__ or "").split(".")[0] in _NOT_CONVERTED or function.__code__ is None:
        return None
    try:
        return source.convert(function, OPERATORS)
    except source.Unconvertible as why:
        return _explaining(function, why)


def _explaining(function, why):
    """The function as it is; the truth of a traced tensor in it is refused with the reason."""
    if isinstance(why, source.Unreadable):
        advice = (
            "Put the function into a file, or a cell of a notebook, since what is typed at a "
            "prompt, piped to Python or run by exec() is kept nowhere; or write if and while with "
            "gyre.cond and gyre.while_loop"
        )
    else:
        advice = (
            "Write if and while with gyre.cond and gyre.while_loop, or move them to a function of "
            "their own"
        )

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if _asks_for_truth(error) and _raised_in(error, function.__code__):
                raise TypeError(
                    f"{function.__qualname__} is run as plain Python, since {why}. There the truth "
                    f"of a tensor that is being traced is not known. {advice}"
                ).with_traceback(error.__traceback__) from None
            raise

    return call


def _asks_for_truth(error):
    text = str(error)
    return "symbolic" in text or "bool" in text or "traced" in text


def _raised_in(error, code):
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code is code:
            return True
        entry = entry.tb_next
    return False


def _call_gyre(fn, args, kwargs):
    """Gyre's own functions are not converted; what they make of ranges and lists is kept."""
    name = getattr(fn, "__name__", "")
    if type(fn) is types.MethodType:
        effects.check_method(fn, (*args, *kwargs.values()))
    if args and isinstance(args[0], TracedList) and name in ("stack", "concat"):
        if name == "stack" and not kwargs.get("axis") and len(args) == 1:
            return args[0].stack()
        if name == "concat" and (args[1:] == (0,) or kwargs.get("axis") == 0):
            return args[0].concat()
        return fn(_unstacked(args[0]), *args[1:], **kwargs)
    return fn(*args, **kwargs)


def _unstacked(values):
    raise TypeError(
        "a list that grew in a traced loop can be stacked and concatenated along axis 0 "
        "only; stack() it first"
    )


def _call_builtin(fn, args, kwargs, scope):
    try:
        overload = OVERLOADS.get(fn)
    except TypeError:
        overload = None
    if overload is not None:
        return overload(*args, **kwargs)
    if getattr(fn, "__module__", None) == "math":
        return maths.call(fn, args, kwargs)
    if fn is super and not args:
        return _super(scope)
    if fn in (locals, globals, eval, exec, vars) and not kwargs:
        return _in_frame(fn, args, scope)
    if fn is map and args:
        return map(_converting(args[0]), *args[1:])
    if fn is filter and args:
        return filter(_converting(args[0]), *args[1:])
    if isinstance(fn, type):
        return objects.construct(fn, args, kwargs)
    effects.check_method(fn, (*args, *kwargs.values()))
    return fn(*args, **kwargs)


def _converting(fn):
    """A function as an argument of a builtin."""
    if isinstance(fn, (types.FunctionType, types.MethodType)):
        return convert_or_none(fn) or fn
    return functools.partial(_call_converted, fn) if _is_plain_object(fn) else fn


def _frame_of(scope, innermost):
    frame, found = sys._getframe(2), None
    while frame is not None:
        if scope is not None and frame.f_locals.get(scope.name) is scope:
            found = frame
            if innermost:
                break
        frame = frame.f_back
    return found


def _super(scope):
    frame = _frame_of(scope, innermost=False)
    own = frame.f_locals[frame.f_code.co_varnames[0]]
    return super(frame.f_locals["__class__"], own)


def _in_frame(fn, args, scope):
    frame = _frame_of(scope, innermost=True)
    if fn is globals:
        return frame.f_globals
    if fn is locals or fn is vars and not args:
        return {name: value for name, value in frame.f_locals.items() if not name.endswith("scope")}
    if fn in (eval, exec):
        return fn(
            args[0],
            args[1] if len(args) > 1 else frame.f_globals,
            args[2] if len(args) > 2 else frame.f_locals,
        )
    return fn(*args)


# What converted code calls `ag__`.
OPERATORS = types.SimpleNamespace(
    converted_call=converted_call, **{name: getattr(operators, name) for name in operators.__all__}
)
