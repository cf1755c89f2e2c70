"""Functions that are an op and nothing more, made of what the registry says when they are first
asked for: `tan`, `maximum`, …"""

from collections.abc import Callable

from gyre import _gyre

# Their ops, by what the functions are called: the last part of the first public name.
OWN_NAMES = {names[0].rpartition(".")[2]: op for op, names in _gyre.public_names().items()}
# Below the sentence of an elementwise op, by how many inputs it has.
_ELEMENTWISE = {
    1: "Element by element: the result has the shape of {0}.",
    2: "Element by element; shapes broadcast as in numpy. Python numbers take the dtype\n"
    "of the other operand. InvalidArgumentError if dtypes or shapes do not fit.",
}


def _document(info: dict, inputs: list[str]) -> str:
    more = _ELEMENTWISE[len(inputs)].format(*inputs) if info["elementwise"] else ""
    return f"{info['doc']}\n\n{more}".rstrip()


def _make(name: str, op: str) -> Callable[..., _gyre.Tensor]:
    info = _gyre.op_info(op)
    inputs = [item["name"] for item in info["inputs"]]
    parameters = "".join(f"{one}: 'TensorLike', " for one in inputs)
    source = (
        f"def {name}({parameters}name: 'str | None' = None) -> 'Tensor':\n"
        f"    return execute({op!r}, ({', '.join(inputs)},), None, name)[0]\n"
    )
    scope = {"execute": _gyre.execute, "__name__": __name__}
    exec(compile(source, __file__, "exec"), scope)  # of names that the build has fixed
    function = scope[name]
    function.__doc__ = _document(info, inputs)
    return function


def __getattr__(name: str) -> Callable[..., _gyre.Tensor]:
    if name not in OWN_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _make(name, OWN_NAMES[name]))  # another thread may be first
