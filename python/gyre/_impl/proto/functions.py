"""Functions of graphs that are written to files."""

from __future__ import annotations

from gyre._impl.proto.own_ops import all_nodes


def merge_equal_functions(graph_def, kept: set[str]) -> None:
    """Leaves one of functions that differ in their names alone. Those in `kept` all stay."""
    while True:
        first: dict[bytes, str] = {}
        merged: dict[str, str] = {}
        functions = graph_def.library.function
        for function in sorted(functions, key=lambda one: one.signature.name not in kept):
            name, body = function.signature.name, _body(function)
            if name not in kept and body in first:
                merged[name] = first[body]
            first.setdefault(body, name)
        if not merged:
            return
        for place in reversed(range(len(functions))):
            if functions[place].signature.name in merged:
                del functions[place]
        for node in all_nodes(graph_def):
            for attr in node.attr.values():
                for called in (attr.func, *attr.list.func) if _calls(attr) else ():
                    called.name = merged.get(called.name, called.name)


def recursive_functions(graph_def) -> list[str]:
    """The functions that call themselves, directly or through others."""
    calls = {
        function.signature.name: {
            called.name
            for node in function.node_def
            for attr in node.attr.values()
            if _calls(attr)
            for called in (attr.func, *attr.list.func)
        }
        for function in graph_def.library.function
    }
    while True:  # leaves out those that call no others, until only circles and who calls them stay
        ends = [name for name, called in calls.items() if not called & calls.keys()]
        if not ends:
            break
        for name in ends:
            del calls[name]
    return sorted(name for name in calls if name in _reached(name, calls))


def _reached(start: str, calls: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for name in calls.get(ahead.pop(), ()):
            if name not in found:
                found.add(name)
                ahead.append(name)
    return found


def _body(function) -> bytes:
    name = function.signature.name
    function.signature.name = ""
    try:
        return function.SerializeToString(deterministic=True)
    finally:
        function.signature.name = name


def _calls(attr) -> bool:
    return attr.HasField("func") or (attr.HasField("list") and len(attr.list.func) > 0)
