"""Python side effects in traced blocks: they would happen once, when the block is traced, instead
of in each iteration or in the taken branch only. Those that involve traced values are refused.

Assignments that the block itself states (`x = …`, `self.x = …`) are part of its state, and fine.
What is refused is changing an older list, dict or set by a method, an attribute by a call, or a
name of an enclosing function by a call. What containers and iterators hold that the function which
is traced has made itself must stay as it is, whatever the values: nobody else needs them.
"""

import dis
import functools
import re
import threading
import types
import weakref

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.tracing import aliases
from gyre._impl.tracing.contents import (
    Contents,
    OwnValues,
    has_contents,
    is_array_of_numbers,
)
from gyre._impl.tracing.lines import block_codes, place
from gyre._impl.tracing.lists import MUTATORS, TracedList

_LIMIT = 2000  # objects that are looked at per block
_ITEMS = (list, dict, TracedList)
_CONTAINERS = (*_ITEMS, set)


class _Active(threading.local):
    def __init__(self):
        self.watches = []  # of the blocks that are being traced, outermost first
        self.arrays = {}  # id -> (weakly an array, in how many blocks it has been seen)


_active = _Active()


class Watch:
    """Of one block while it is traced: knows what existed before. names: its state, as written."""

    def __init__(self, *blocks, kind, at, names):
        self.kind, self.at, self.names = kind, at, [str(name) for name in names]
        self.older = {}  # id -> object: containers that the block can reach
        self.objects = {}  # id -> (object, path)
        self.own_objects = set()  # ids of those that the function has made itself
        self.assigned = {}  # (id of a scope, name) -> (read, name, function that assigns it)
        self.contents = {}  # id -> (Contents, paths) of what the function has made itself
        own = OwnValues()
        for block in blocks:
            self._look_into_function(block, "", 0, own)

    def __enter__(self):
        self.found = {key: dict(obj.__dict__) for key, (obj, _) in self.objects.items()}
        self.values = {key: read() for key, (read, _, _) in self.assigned.items()}
        _active.watches.append(self)
        return self

    def __exit__(self, kind, error, traceback):
        _active.watches.remove(self)

    def _look_into_function(self, fn, path, depth, own):
        if depth > 0:
            self._look_at_assigned(fn)
        for value in fn.__defaults__ or ():
            self._look(value, f"a default value of {fn.__name__}", depth, own, own.defines(fn))
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if name != "ag__":  # the operators of converted code
                self._look(value, name, depth, own)
        names = fn.__globals__
        for name in fn.__code__.co_names:
            value = names.get(name)
            if isinstance(value, _CONTAINERS) or is_array_of_numbers(value):
                self._look(value, name, depth, own)

    def _look_at_assigned(self, fn):
        """Names of scopes around that a user's function assigns: nonlocal ones and global ones."""
        if fn.__code__ in block_codes:
            return
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        for kind, name in _assigned_outside(fn.__code__):
            if kind == "STORE_GLOBAL":
                read = functools.partial(fn.__globals__.get, name)
                self.assigned[id(fn.__globals__), name] = read, name, fn.__name__
            elif name in cells:
                read = functools.partial(_contents, cells[name])
                self.assigned[id(cells[name]), name] = read, name, fn.__name__

    def _look(self, value, path, depth, own, is_own=False):
        if depth > 4 or len(self.older) + len(self.objects) > _LIMIT:
            return
        is_own = is_own or value in own
        if is_own and has_contents(value):
            if id(value) not in self.contents:
                self.contents[id(value)] = Contents(value), []
            self.contents[id(value)][1].append(path)
        if is_array_of_numbers(value):
            see_array(value)
        elif isinstance(value, _CONTAINERS):
            if id(value) in self.older:
                return
            self.older[id(value)] = value
            items = (
                value.items()
                if isinstance(value, dict)
                else (() if isinstance(value, TracedList) else enumerate(value))
            )
            for key, item in list(items)[:50]:
                self._look(item, f"{path}[{key!r}]", depth + 1, own, is_own)
        elif isinstance(value, tuple):
            for i, item in enumerate(value[:50]):
                self._look(item, f"{path}[{i}]", depth + 1, own, is_own)
        elif isinstance(value, types.FunctionType):
            if not value.__module__ or not value.__module__.startswith(("gyre", "numpy")):
                self._look_into_function(value, path, depth + 1, own)
        elif isinstance(value, types.MethodType):
            self._look(value.__self__, path, depth + 1, own)
        elif _is_users(value) and id(value) not in self.objects:
            self.objects[id(value)] = (value, path)
            if is_own:
                self.own_objects.add(id(value))
            for name, item in list(value.__dict__.items())[:100]:
                self._look(item, f"{path}.{name}", depth + 1, own, is_own)

    def is_older(self, value):
        """Whether a container was there before the block."""
        return id(value) in self.older

    def holds(self, written):
        """Whether a place, as it is written, is part of the state, or is in what is."""
        return written is not None and any(
            written == name or written.startswith((f"{name}[", f"{name}.")) for name in self.names
        )

    def check(self, names):
        """Refuses what calls in the block have changed, once, while it was traced. `names`: what it
        states."""
        self._check_contents()
        self._check_attributes(names)
        allowed = {str(name).partition("[")[0] for name in names}
        for key, (read, name, function) in self.assigned.items():
            value = read()
            if name not in allowed and value is not self.values[key] and _holds_traced(value):
                raise TypeError(
                    f"the traced {self.kind} at {self.at} calls {function}, which assigns {name!r} "
                    "of the code around it: that would happen once, while tracing. Return the "
                    f"value from {function}, and assign {name} in the {self.kind} itself"
                )

    def _check_attributes(self, names):
        """Refuses traced values in attributes; where the function has made the object itself, also
        what has counted."""
        attributes = {
            name.rpartition(".")[2].partition("[")[0] for name in map(str, names) if "." in name
        }
        for key, (obj, path) in self.objects.items():
            before = self.found[key]
            for name, value in list(obj.__dict__.items()):
                if name in attributes or name in before and before[name] is value:
                    continue
                counts = key in self.own_objects and _is_count(before.get(name))
                if _holds_traced(value) or counts and _is_count(value) and value != before[name]:
                    raise TypeError(
                        f"the traced {self.kind} at {self.at} changes the attribute {path}.{name} "
                        f"by a call: that would happen once, while tracing. Assign {path}.{name} "
                        f"in the {self.kind} itself, or make it a gyre.Variable"
                    )

    def _check_contents(self):
        """Refuses that what the function has made holds something else than before the block, but
        for items that are part of the block's state."""
        stated = [_any_key(name) for name in self.names]
        for contents, paths in self.contents.values():
            if not contents.have_changed() or any(
                name.startswith(f"{_any_key(path)}[") for path in paths for name in stated
            ):
                continue
            if contents.is_iterator:
                raise TypeError(
                    f"the traced {self.kind} at {self.at} takes items of {paths[0]!r}, a Python "
                    f"iterator that is older: they would be taken once, while tracing, and not "
                    f"when the {self.kind} runs. Take them before the {self.kind}, or run over "
                    f"the values themselves, gyre.range or a gyre.data.Dataset"
                )
            raise TypeError(
                f"the traced {self.kind} at {self.at} changes {paths[0]!r}, a Python "
                f"{contents.kind} that is older, by a call: it would happen once, while tracing, "
                f"not when the {self.kind} runs. Change a list, dict or set by a statement of the "
                f"{self.kind} itself (its methods, an assignment), or use a tensor, a "
                f"gyre.TensorArray or a gyre.Variable"
            )


def _any_key(path):
    """A place as it is written, whatever its keys are."""
    return re.sub(r"\[[^\[\]]*\]", "[]", path)


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


@functools.lru_cache(maxsize=1000)
def _assigned_outside(code):
    """(kind of store, name) of what a function, or one inside of it,
    assigns of scopes around it."""
    found = {
        (step.opname, step.argval)
        for step in dis.get_instructions(code)
        if step.opname == "STORE_GLOBAL"
        or step.opname == "STORE_DEREF"
        and step.argval in code.co_freevars
    }
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= {
                (kind, name)
                for kind, name in _assigned_outside(inner)
                if kind == "STORE_GLOBAL" or name in code.co_freevars
            }
    return frozenset(found)


def _is_users(value):
    module = type(value).__module__ or ""
    return (
        not isinstance(value, (type, types.ModuleType))
        and hasattr(value, "__dict__")
        and module.split(".")[0] not in ("gyre", "numpy", "builtins", "threading", "weakref")
    )


def _is_count(value):
    """Whether a value is a number that calls may count with; True and False say that something is
    done."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _holds_traced(value):
    try:
        return any(
            isinstance(leaf, _gyre.Tensor) and leaf.is_symbolic
            for leaf in nest.flatten(value, expand_composites=True)
        )
    except TypeError:
        return False


def check_method(method, args):
    """Refuses `older.append(traced)`. `method` is a bound builtin method."""
    owner = getattr(method, "__self__", None)
    if isinstance(owner, _CONTAINERS) and method.__name__ in MUTATORS:
        aliases.check_write(owner, f"{method.__name__}()")
    if _active.watches and isinstance(owner, _CONTAINERS) and method.__name__ in MUTATORS:
        _check(owner, list(args), f"{method.__name__}()")


def check_item(owner, value, written):
    """Refuses `older[key] = traced`, unless that place is part of a block's state."""
    aliases.check_write(owner, f"the assignment of {written}")
    if _active.watches and isinstance(owner, _ITEMS):
        _check(owner, value, f"the assignment of {written}", written)


def see_array(array):
    """Notes that an array of numpy is there, outside of blocks whose tracing is yet to begin."""
    arrays, key = _active.arrays, id(array)
    found = arrays.get(key)
    if found is None or found[0]() is not array or found[1] > len(_active.watches):
        arrays[key] = (
            weakref.ref(array, functools.partial(_forget, arrays, key)),
            len(_active.watches),
        )


def _forget(arrays, key, array):
    """An array is gone: unless another one has its place already."""
    if key in arrays and arrays[key][0] is array:
        del arrays[key]


def check_array(array, key, value, written):
    """Refuses `array[key] = value` of numpy's arrays where a tensor of the graph is involved, and
    where a block changes one that is older."""
    seen = _active.arrays.get(id(array))
    depth = seen[1] if seen is not None and seen[0]() is array else len(_active.watches)
    older = next((w for w in _active.watches if id(array) in w.contents), None)
    block = older or next(iter(_active.watches[depth:]), None)
    if block is None:
        if not _holds_traced(value) and not any(map(_holds_traced, _parts(key))):
            return
        block = _active.watches[-1] if _active.watches else None
    where = f"the traced {block.kind} at {block.at}" if block else "a traced function"
    name = _holder(written)
    raise TypeError(
        f"{written} at {place()} is assigned in {where}, and {name} is a numpy array, which holds "
        f"numbers that are known while tracing: begin with gyre.zeros, or make it a tensor by "
        f"gyre.constant({name})"
    )


def _parts(key):
    """What an index is made of."""
    for part in key if isinstance(key, tuple) else (key,):
        yield from (part.start, part.stop, part.step) if isinstance(part, slice) else (part,)


def _holder(written):
    """Of a place, as it is written ("a[0][i]"), what holds it ("a[0]")."""
    depth = 0
    for end in range(len(written) - 1, 0, -1):
        depth += (written[end] == "]") - (written[end] == "[")
        if depth == 0:
            return written[:end]
    return written


def _kind(owner):
    return "list" if isinstance(owner, TracedList) else type(owner).__name__


def _check(owner, value, what, written=None):
    if not _holds_traced(value):
        return
    for watch in _active.watches:
        if id(owner) in watch.older and not watch.holds(written):
            raise TypeError(
                f"{what} at {place()} changes a Python {_kind(owner)} that is older "
                f"than the traced {watch.kind} at {watch.at}: it would happen once, while tracing, "
                f"not when the {watch.kind} runs. Use a name of this function (lists that are "
                f"appended to by name become part of the {watch.kind}'s state), a gyre.TensorArray "
                f"or a gyre.Variable"
            )
