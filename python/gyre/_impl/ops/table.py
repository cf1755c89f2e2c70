"""Functions that the registry describes, made of what it says when they are first asked for: `tan`,
`reduce_sum`, `xlogy`, …"""

from collections.abc import Callable
from typing import Any

from gyre import _gyre
from gyre._impl.dispatch import COMPOSITES, call_for, guard


def _own(names: list[str]) -> str:
    """What a function is called: the last part of its first public name."""
    return names[0].rpartition(".")[2]


# Functions that are an op with its inputs: the op.
OPS = {_own(names): op for op, names in _gyre.public_names().items()}
# All others: what they are.
_OTHERS = {_own(info["names"]): info for info in _gyre.public_functions()}
_ANNOTATIONS = {
    "tensor": "TensorLike",
    "axes": "TensorLike | None",
    "shape": "ShapeLike",
    "ints": "int | Sequence[int]",
    "type": "DTypeLike",
    "string": "str",
}
# Below the sentence of an elementwise op, by how many inputs it has.
_ELEMENTWISE = {
    1: "Element by element: the result has the shape of {0}.",
    2: "Element by element; shapes broadcast as in numpy. Python numbers take the dtype\n"
    "of the other operand. InvalidArgumentError if dtypes or shapes do not fit.",
    3: "Element by element; shapes are equal, or scalars. Python numbers take the dtype of the\n"
    "other operands. InvalidArgumentError if dtypes or shapes do not fit.",
}


def _describe(name: str) -> tuple[list[dict], str, str, str]:
    """Parameters of a function, its result, what it does with them, and its documentation."""
    if name in OPS:
        info = _gyre.op_info(OPS[name])
        inputs = [item["name"] for item in info["inputs"]]
        more = _ELEMENTWISE[len(inputs)].format(*inputs) if info["elementwise"] else ""
        parameters = [{"name": one, "kind": "tensor", "optional": False} for one in inputs]
        call = f"execute({OPS[name]!r}, ({', '.join(inputs)},), None, name)[0]"
        return parameters, "Tensor", call, f"{info['doc']}\n\n{more}".rstrip()
    info = _OTHERS[name]
    arguments = "".join(f"{one['name']}, " for one in info["parameters"])
    results = ", ".join(["Tensor"] * info["results"])
    return (
        info["parameters"],
        results if info["results"] == 1 else f"tuple[{results}]",
        f"call_function({name!r}, ({arguments}), name)",
        info["doc"],
    )


def _parameter(info: dict) -> str:
    kind = str(_ANNOTATIONS.get(info["kind"], info["kind"]))
    may_be_none = info["optional"] or info.get("default", 0) is None
    if may_be_none and "None" not in kind:
        kind += " | None"
    default = f" = {info['default']!r}" if "default" in info else ""
    return f"{info['name']}: {kind!r}{default}, "


def _for_composites(name: str, parameters: list[dict]) -> str:
    """Lines that leave composites among the tensors to what is there for them."""
    tensors = [one["name"] for one in parameters if one["kind"] == "tensor"]
    if not tensors:
        return ""
    # Tensors, which most arguments are, are told soonest.
    others = " or ".join(f"class_of({one}) is not Tensor" for one in tensors)
    known = " or ".join(f"class_of({one}) in COMPOSITES" for one in tensors)
    names = [*(one["name"] for one in parameters), "name"]
    return guard(name, name, names, f"({others}) and COMPOSITES and ({known})")


def _make(name: str) -> Callable[..., _gyre.Tensor]:
    parameters, result, call, documentation = _describe(name)
    takes = "".join(map(_parameter, parameters)) + "name: 'str | None' = None"
    guard = _for_composites(name, parameters)
    source = f"def {name}({takes}) -> {result!r}:\n{guard}    return {call}\n"
    scope = {
        "COMPOSITES": COMPOSITES,
        "Tensor": _gyre.Tensor,
        "call_for": call_for,
        "class_of": type,  # which parameters may be called
        "execute": _gyre.execute,
        "call_function": _gyre.call_function,
        "__name__": __name__,
    }
    exec(compile(source, __file__, "exec"), scope)  # of names that the build has fixed
    function = scope[name]
    function.__doc__ = documentation
    return function


def __getattr__(name: str) -> Any:
    if name not in OPS and name not in _OTHERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _make(name))  # another thread may be first
