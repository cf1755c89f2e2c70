"""gyre.raw_ops: every op of the registry as a function of keyword arguments.

Arguments are the op's inputs and attributes by the names of its schema, and `name`. The result is
one tensor, a named tuple of several (where a list is an output: a list), or None.
"""

import collections
import inspect
import keyword

from gyre import _gyre
from gyre._impl import facade
from gyre._impl.annotations import Any
from gyre._impl.raw.functional import with_functions


def _argument(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def _is_list(item: dict) -> bool:
    return bool(item.get("number_attr") or item.get("type_list_attr"))


def _dtypes_of_empty(info: dict) -> dict[str, _gyre.DType]:
    """For inputs that cannot be float32, which [] would be: the first dtype that they can have."""
    allowed = {attr["name"]: attr.get("allowed") for attr in info["attrs"]}
    found = {}
    for item in info["inputs"]:
        dtypes = allowed.get(item.get("type_attr"))
        if dtypes and "float32" not in {_gyre.as_dtype(d).name for d in dtypes}:
            found[item["name"]] = _gyre.as_dtype(dtypes[0])
    return found


def _length(output: dict, attrs: dict, results: int, others: int) -> int:
    """How many tensors an output that is a list has."""
    key = output.get("number_attr") or output.get("type_list_attr")
    value = attrs.get(key)
    if value is None:
        return results - others
    return len(value) if output.get("type_list_attr") else int(value)


def _signature(info: dict) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    told = {
        i.get(k) for i in info["inputs"] for k in ("type_attr", "number_attr", "type_list_attr")
    }
    required = [inspect.Parameter(_argument(i["name"]), kind) for i in info["inputs"]]
    optional = []
    for attr in info["attrs"]:
        if "default" in attr or attr["name"] in told:
            default = attr.get("default")
            optional.append(inspect.Parameter(_argument(attr["name"]), kind, default=default))
        else:
            required.append(inspect.Parameter(_argument(attr["name"]), kind))
    optional.append(inspect.Parameter("name", kind, default=None))
    return inspect.Signature(required + optional)


def _document(info: dict) -> str:
    lines = [info["doc"], ""]
    for title, items in (("Inputs", info["inputs"]), ("Outputs", info["outputs"])):
        for item in items:
            kind = next(
                (item[k] for k in ("dtype", "type_attr", "type_list_attr") if item.get(k)), ""
            )
            lines.append(
                f"{title[:-1]} {item['name']}: {kind}"
                + (f" × {item['number_attr']}" if item.get("number_attr") else "")
            )
    for attr in info["attrs"]:
        default = f", default {attr['default']!r}" if "default" in attr else ""
        lines.append(f"Attribute {attr['name']}: {attr['type']}{default}")
    return "\n".join(lines)


# Primitives of control flow that hand their data on, wherever they stand.
_FORWARDING = {
    prefix + name for prefix in ("", "Ref") for name in ("Enter", "Exit", "NextIteration")
} | {"LoopCond"}


def _is_empty(value) -> bool:
    return isinstance(value, (list, tuple)) and not value


def make(op: str):
    """The function of one op. AttributeError if there is none of this name."""
    try:
        info = _gyre.op_info(op)
    except Exception as error:
        raise AttributeError(f"gyre.raw_ops has no op {op!r}.") from error
    signature = _signature(info)
    inputs = [(_argument(i["name"]), _is_list(i)) for i in info["inputs"]]
    attrs = [(_argument(a["name"]), a["name"], a["type"]) for a in info["attrs"]]
    empty = _dtypes_of_empty(info)
    outputs = info["outputs"]
    names = [_argument(o["name"]) for o in outputs]
    several = collections.namedtuple(op.lstrip("_"), names, rename=True) if len(names) > 1 else None

    def pack(results: list, given: dict):
        if not outputs:
            graph: Any = _gyre.current_graph()
            return graph.last_operation() if facade.builds_session() else None
        items, at = [], 0
        lists = [o for o in outputs if _is_list(o)]
        for output in outputs:
            count = 1
            if _is_list(output):
                count = (
                    len(results) - (len(outputs) - 1)
                    if len(lists) == 1
                    else _length(output, given, len(results), len(outputs) - 1)
                )
            items.append(results[at : at + count] if _is_list(output) else results[at])
            at += count
        return several(*items) if several else items[0]

    def function(**arguments):
        try:
            bound = signature.bind(**arguments).arguments
        except TypeError as error:
            raise TypeError(f"raw_ops.{op}: {error}") from None
        values = [
            list(bound[name])
            if is_list
            else _gyre.convert([], empty[name])
            if name in empty and _is_empty(bound[name])
            else bound[name]
            for name, is_list in inputs
        ]
        given = {
            name: bound[argument] for argument, name, _ in attrs if bound.get(argument) is not None
        }
        if op in _FORWARDING and _gyre.current_graph() is None:
            return _gyre.execute("Identity", values[:1])[0]
        if op == "Switch" and _gyre.current_graph() is None:
            return pack(_switched(*map(_gyre.convert, values)), given)
        return pack(_gyre.execute(op, values, given, bound.get("name")), given)

    function.__name__ = function.__qualname__ = op
    function.__module__ = "gyre.raw_ops"
    function.__doc__ = _document(info)
    function.__signature__ = signature
    return function


def _switched(data, pred) -> list:
    """The outputs of Switch at once: of the one that is not taken, no elements."""
    nothing = _gyre.execute("Reshape", [data, [-1]])[0][:0]
    return [nothing, data] if bool(pred) else [data, nothing]


_made: dict[str, object] = {}


def find(op: str):
    """The function of one op, made once."""
    if op not in _made:
        _made[op] = with_functions(op, make(op))
    return _made[op]
