"""Reads the text form of programs (`Graph.text()`) into functions and nodes.

What pictures need, no more: names, ops, inputs, attributes, types, places.
"""

import re
from dataclasses import dataclass, field

# A name stands in quotes where it has other characters than letters, digits and _ . - /
_NAME = r'"(?:[^"\\]|\\.)*"|[\w./-]+'
_HEAD = re.compile(rf"%({_NAME}) = (\w+)\(")
_INPUT = re.compile(rf"(\^?)%({_NAME})(?::(\d+))?")
_FUNCTION = re.compile(rf"func @({_NAME})\(")
_ATTR = re.compile(r"(\w+)=")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_TARGET = re.compile(rf"@({_NAME})")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(slots=True)
class Node:
    """One node. inputs: (name, slot) of nodes of the same function; slot -1 for control inputs.
    functions: (attribute, name of function) of the bodies it has."""

    name: str
    op: str
    inputs: list = field(default_factory=list)
    attrs: dict = field(default_factory=dict)
    types: str = ""
    line: str = ""
    device: str = ""
    functions: list = field(default_factory=list)


@dataclass(slots=True)
class Function:
    """A main graph (name "") or function: nodes by name, and what it takes and gives."""

    name: str
    nodes: dict = field(default_factory=dict)
    arguments: list = field(default_factory=list)  # (name, type, name of node)
    results: list = field(default_factory=list)  # (name, type)
    returned: list = field(default_factory=list)  # (name of node, slot), one per result


def unquote(name):
    """A name as it is, without quotes."""
    if name[:1] != '"':
        return name
    return re.sub(r"\\(.)", r"\1", name[1:-1])


def _end(text, start):
    """Where the bracket that is open before `start` closes."""
    depth, i = 1, start
    while i < len(text):
        c = text[i]
        if c == '"':
            i = _STRING.match(text, i).end()
            continue
        if c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
            if depth == 0:
                return i
        i += 1
    return len(text)


def _word_end(text, i):
    """Where the value ends that begins at `i`: at a space outside of brackets and strings."""
    while i < len(text) and text[i] != " ":
        if text[i] == '"':
            i = _STRING.match(text, i).end()
        elif text[i] in _OPEN:
            i = _end(text, i + 1) + 1
        else:
            i += 1
    return i


def _inputs(text):
    return [(unquote(m[2]), -1 if m[1] else int(m[3] or 0)) for m in _INPUT.finditer(text)]


def _node(line):
    head = _HEAD.match(line)
    if head is None:
        raise ValueError(f"not a line of a program: {line!r}")
    node = Node(unquote(head[1]), head[2])
    close = _end(line, head.end())
    node.inputs = _inputs(line[head.end() : close])
    i = close + 1
    while i < len(line):
        if line[i] == " ":
            i += 1
        elif line.startswith(": ", i):
            end = _word_end(line, i + 2)
            node.types = line[i + 2 : end]
            i = end
        elif line.startswith(("at ", "on "), i):
            end = _word_end(line, i + 3)
            value = unquote(line[i + 3 : end])
            if line[i] == "a":
                node.line = value
            else:
                node.device = value
            i = end
        elif (attr := _ATTR.match(line, i)) is not None:
            end = _word_end(line, attr.end())
            value = line[attr.end() : end]
            if value[:1] == "@" or value[:2] == "[@":
                node.functions += [(attr[1], unquote(m[1])) for m in _TARGET.finditer(value)]
            else:
                node.attrs[attr[1]] = value
            i = end
        else:  # a comment, or what later versions write
            i = _word_end(line, i)
    return node


def _split(text):
    """At commas outside of brackets and strings."""
    parts, start, i = [], 0, 0
    while i < len(text):
        if text[i] == '"':
            i = _STRING.match(text, i).end()
        elif text[i] in _OPEN:
            i = _end(text, i + 1) + 1
        else:
            if text[i] == ",":
                parts.append(text[start:i].strip())
                start = i + 1
            i += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _function(line):
    head = _FUNCTION.match(line)
    close = _end(line, head.end())
    made = Function(unquote(head[1]))
    for part in _split(line[head.end() : close]):
        if " = %" in part:
            name, node = part.split(" = %", 1)
            name, _, kind = name.partition(": ")
            made.arguments.append((unquote(name), kind.split(" ")[0], unquote(node)))
        else:
            name, _, kind = part[1:].partition(": ")
            made.arguments.append((unquote(name), kind.split(" ")[0], unquote(name)))
    opened = line.find("(", close)
    if line.startswith(") -> (", close):
        for part in _split(line[opened + 1 : _end(line, opened + 1)]):
            name, _, kind = part.partition(": ")
            made.results.append((unquote(name), kind))
    return made


def parse(text):
    """Functions by name; the main graph is ""."""
    functions, current = {}, None
    for line in text.splitlines():
        line = line.strip()
        if not line or line == "}" or line.startswith("program"):
            continue
        if line.startswith("graph {"):
            current = functions.setdefault("", Function(""))
        elif line.startswith("func @"):
            current = _function(line)
            functions[current.name] = current
        elif line.startswith("return"):
            current.returned = _inputs(line[6:])
        elif line.startswith("%"):
            node = _node(line)
            current.nodes[node.name] = node
    functions.setdefault("", Function(""))
    return functions
