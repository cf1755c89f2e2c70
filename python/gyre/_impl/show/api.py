"""gyre.show: a picture of a program."""

import os

from gyre import _gyre
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import Function, function
from gyre._impl.show import counts, model, text
from gyre._impl.show.page import Page


def show(fn, *args, path=None, **kwargs) -> Page:
    """Draws a program as nested boxes: loops, branches and calls, with their bodies inside.

    fn: a gyre.function (its latest trace, or the one for the arguments), a concrete function, a
    gyre.Graph, or a plain Python function, which is traced. With arguments it runs once, watched,
    and how often each loop went round and what each op took is laid over the picture. Its effects
    happen as in any run.

    Returns a Page: in a notebook it shows itself; `page.svg`, `page.html` and `page.save(path)` are
    for elsewhere. path: also saves it there, as SVG if the name ends so.

    TypeError: not a program. ValueError: a function that was never traced, without arguments."""
    if isinstance(fn, _gyre.Graph):
        page = draw(fn, getattr(fn, "name", "graph"))
    else:
        concrete, tensors = program_of(fn, args, kwargs)
        statistics = None
        if tensors is not None:
            _, statistics = concrete.run_with_options(tensors, trace=True)
        page = draw(concrete.graph, concrete.name, concrete.outputs, statistics)
    if path is not None:
        page.save(path)
    return page


def program_of(fn, args, kwargs):
    """(concrete function, tensors to run it with or None)"""
    given = bool(args or kwargs)
    if isinstance(fn, ConcreteFunction):
        return fn, fn.tensors_of(args, kwargs) if given else None
    if not isinstance(fn, Function):
        if not callable(fn):
            raise TypeError(f"gyre.show takes a function or a graph, not a {type(fn).__name__}")
        fn = function(fn)
    if given or not fn.parameters.count:
        return fn.traced(args, kwargs)
    if fn.latest is not None:
        return fn.latest, None
    if fn.input_signature is None:
        raise ValueError(
            f"{fn.name} has not been traced yet: call it, or give gyre.show its arguments"
        )
    return fn.get_concrete_function(), None


def draw(graph, name, outputs=(), statistics=None) -> Page:
    """The page of a graph. outputs: tensors that it returns; statistics: of a traced run."""
    functions = text.parse(graph.text())
    results = [
        ("returns" if len(outputs) == 1 else f"returns {i}", tensor.name)
        for i, tensor in enumerate(outputs)
    ]
    root = model.Builder(functions, graph.shapes()).build(os.path.basename(name), results)
    if statistics is not None:
        counts.apply(root, statistics)
    return Page(root, statistics)
