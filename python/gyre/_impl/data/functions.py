"""Functions that users give to datasets: traced once where that is possible."""

import contextlib

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.data import elements
from gyre._impl.data.source import Source
from gyre._impl.function import concrete
from gyre._impl.function.function import Function
from gyre._impl.tracing.state import probe


class ElementFunction:
    """`fn` of elements of a spec. `spec`: what it returns.

    Outside of graphs it is traced here and now, once; within a graph, whose tensors it may use, it
    becomes part of that graph wherever it is called."""

    def __init__(self, fn, spec, what: str):
        if not callable(fn):
            raise TypeError(f"{what} takes a function of elements, not a {type(fn).__name__}")
        python = getattr(fn, "python_function", fn)
        self._python = concrete.converted(python, True)
        self._specs = elements.arguments_of(spec)
        self._concrete = None
        if _gyre.current_graph() is None:
            traced = Function(
                self._results, name=getattr(python, "__name__", what), autograph=False
            )
            self._concrete = traced.get_concrete_function(*self._specs)
            self.spec = elements.spec_of(self._concrete.structured_outputs)
        else:
            self.spec = self._traced_aside()

    def _results(self, *arguments):
        return elements.as_element(self._python(*arguments))

    def _traced_aside(self):
        """The spec of the results, from a trace that is thrown away."""

        def results():
            return elements.spec_of(
                self._results(*nest.map_structure(_stand_in, self._specs, expand_composites=True))
            )

        return probe(results)

    def __call__(self, element):
        arguments = elements.arguments_of(element)
        if self._concrete is None:
            return self._results(*arguments)
        return self._concrete.run(nest.flatten(arguments, expand_composites=True))


def _stand_in(leaf):
    return _gyre.execute("Placeholder", [], {"dtype": leaf.dtype, "shape": leaf._dims})[0]


class DatasetFunction:
    """`fn` of elements of a spec, which returns a dataset.
    `element_spec`: of that one's elements."""

    def __init__(self, fn, spec):
        self._python = concrete.converted(getattr(fn, "python_function", fn), True)
        with contextlib.nullcontext() if _gyre.current_graph() is not None else _gyre.Graph("spec"):
            made = probe(lambda: self(nest.map_structure(_stand_in, spec, expand_composites=True)))
        if not isinstance(made, Source):
            raise TypeError(
                f"the function of flat_map must return a Dataset, not a {type(made).__name__}"
            )
        self.element_spec = made.element_spec

    def __call__(self, element):
        return self._python(*elements.arguments_of(element))
