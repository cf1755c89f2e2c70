"""What stands on nodes: expressions, constants, types, as short as they can be understood."""

import itertools
import re

_INFIX = {
    "Add": "+",
    "AddV2": "+",
    "Sub": "−",
    "Mul": "×",
    "RealDiv": "÷",
    "Div": "÷",
    "FloorDiv": "//",
    "FloorMod": "%",
    "Pow": "^",
    "Less": "<",
    "LessEqual": "≤",
    "Greater": ">",
    "GreaterEqual": "≥",
    "Equal": "=",
    "NotEqual": "≠",
    "LogicalAnd": "and",
    "LogicalOr": "or",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
}
_PREFIX = {"Neg": "−", "LogicalNot": "not "}
_LITERAL = re.compile(r"\w+(?:\[([^\]]*)\])?\{(.*)\}$", re.S)
_COUNTED = re.compile(r"^(.*?)_\d+$")
MOST_LETTERS = 26


def constant(node):
    """The value of a Const, if it is short: "0.5", "[1 0 2]"; else None."""
    match = _LITERAL.match(node.attrs.get("value", ""))
    if match is None or "..." in match[2] or len(match[2]) > 14:
        return None
    values = match[2].replace(",", "")
    return values if match[1] is None else f"[{values}]"


def is_inner(text):
    """Whether an expression is about values that have the names of ops:
    those that no user named."""
    return re.search(r"\b[A-Z]\w*[a-z]", text) is not None


def results(function):
    """What a function returns, as (name, node, slot)."""
    names = [argument(name) for name, _ in function.results]
    if len(names) == 1 and names[0].startswith("#"):
        names = ["result"]
    return [
        (name or "result", *place) for name, place in zip(names, function.returned, strict=False)
    ]


def base(name):
    """A name without the number that made it unique."""
    match = _COUNTED.match(name)
    return match[1] if match else name


def argument(name):
    """The name of an argument or result as the user knows it."""
    for start in ("state_", "result_", "captured_"):
        if name.startswith(start) and len(name) > len(start):
            name = name[len(start) :]
            return f"#{name}" if name.isdigit() else name
    return name.rstrip("_")


def expression(node, operands):
    """What an op does, of operands as texts ("·": some value)."""
    if node.op == "ReadVariableOp" and operands and operands[0] != "·":
        return f"read {operands[0]}"
    if node.op in _INFIX and len(operands) == 2:
        a, b = operands
        text = f"{a} {_INFIX[node.op]} {b}"
        return text if len(text) <= MOST_LETTERS else f"· {_INFIX[node.op]} ·"
    if node.op in _PREFIX and len(operands) == 1:
        return _PREFIX[node.op] + operands[0]
    if "MatMul" in node.op:
        flags = itertools.chain(("transpose_a", "transpose_b"), itertools.repeat(""))
        operands = [
            text + "ᵀ" * (node.attrs.get(flag) == "true")
            for text, flag in zip(operands, flags, strict=False)
        ]
    shown = [text for text in operands if text != "·"]
    text = node.op + (f"({', '.join(operands)})" if shown else "")
    return text if len(text) <= MOST_LETTERS else node.op


def variable(node):
    """The name of the variable whose handle a node makes."""
    name = node.attrs.get("shared_name", "").strip('"') or node.name
    return base(name)


def shape(dtype, dims):
    """A type with its dims: "float32[2,?]"; "float32[…]" where the rank is not known."""
    if dims is None:
        return f"{dtype}[…]"
    return (
        dtype
        if not len(dims)
        else f"{dtype}[{','.join('?' if d is None else str(d) for d in dims)}]"
    )


def time(nanos):
    """A duration with three digits and its unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanos >= size:
            value = nanos / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{nanos:.0f} ns"


def count(number):
    """A count with thousands apart."""
    return f"{number:,}".replace(",", " ")


def size(number):
    """A number of bytes."""
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= many:
            return f"{number / many:.3g} {unit}"
    return f"{number} bytes"
