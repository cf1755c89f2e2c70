"""Datasets that must compute an element to know whether there is one: filters and the like."""

from gyre import _gyre
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.data import elements
from gyre._impl.data.source import UNKNOWN, Source
from gyre._impl.shape import TensorShape


class Lookahead(Source):
    """The state is (whether an element is at hand, the element, the state of the search)."""

    def first(self):
        """The state of the search before the first element."""
        raise NotImplementedError

    def search(self, state):
        """(whether there is another element, the state after it, the element)."""
        raise NotImplementedError

    def begin(self):
        return _gyre.convert(False), elements.zeros(self.element_spec), self.first()

    def advance(self, state):
        ready, element, inner = state

        def search():
            found, after, element = self.search(inner)
            return found, (found, element, after)

        return cond(ready, lambda: (ready, (ready, element, inner)), search)

    def pull(self, state):
        _, element, inner = state
        return (
            elements.refined(element, self.element_spec),
            (_gyre.convert(False), element, inner),
        )


class Filter(Lookahead):
    """The elements for which a predicate is true."""

    def __init__(self, source, predicate):
        self._source, self._predicate = source, predicate
        super().__init__(source.element_spec, UNKNOWN)

    def first(self):
        return self._source.begin()

    def search(self, state):
        more, state = self._source.advance(state)
        element = elements.zeros(self.element_spec)

        def step(more, found, state, element):
            element, state = self._source.pull(state)
            found = self._predicate(element)
            more, state = cond(
                found, lambda: (_gyre.convert(True), state), lambda: self._source.advance(state)
            )
            return more, found, state, element

        _, found, state, element = while_loop(
            lambda more, found, *_: more & ~found,
            step,
            (more, _gyre.convert(False), state, element),
        )
        return found, state, element


class FlatMap(Lookahead):
    """The elements of the datasets that a function makes of elements,
    one dataset after the other."""

    def __init__(self, source, make):
        self._source, self._make = source, make
        super().__init__(make.element_spec, UNKNOWN)

    def first(self):
        element = elements.zeros(self._source.element_spec)
        return _gyre.convert(False), element, self._make(element).begin(), self._source.begin()

    def search(self, state):
        def step(found, ended, active, element, inner, outer):
            more, inner = cond(
                active,
                lambda: self._make(element).advance(inner),
                lambda: (_gyre.convert(False), inner),
            )

            def next_dataset():
                there, outer_after = self._source.advance(outer)

                def begin():
                    element, after = self._source.pull(outer_after)
                    return there, element, self._make(element).begin(), after

                return cond(there, begin, lambda: (there, element, inner, outer_after))

            active, element, inner, outer = cond(
                more, lambda: (_gyre.convert(True), element, inner, outer), next_dataset
            )
            return more, ~active, active, element, inner, outer

        no = _gyre.convert(False)
        found, _, active, element, inner, outer = while_loop(
            lambda found, ended, *_: ~(found | ended), step, (no, no, *state)
        )

        def value():
            taken, after = self._make(element).pull(inner)
            return taken, after

        taken, inner = cond(found, value, lambda: (elements.zeros(self.element_spec), inner))
        return found, (active, element, inner, outer), taken


class TakeWhile(Lookahead):
    """The elements before the first for which a predicate is false."""

    def __init__(self, source, predicate):
        self._source, self._predicate = source, predicate
        super().__init__(source.element_spec, UNKNOWN)

    def first(self):
        return _gyre.convert(False), self._source.begin()

    def search(self, state):
        over, state = state
        more, state = cond(
            over, lambda: (_gyre.convert(False), state), lambda: self._source.advance(state)
        )

        def test():
            element, after = self._source.pull(state)
            return self._predicate(element), element, after

        good, element, state = cond(
            more, test, lambda: (_gyre.convert(False), elements.zeros(self.element_spec), state)
        )
        return good, (~good, state), element


def is_scalar_bool(spec) -> bool:
    """Whether a predicate's result is one truth value."""
    return getattr(spec, "dtype", None) == _gyre.as_dtype("bool") and TensorShape(
        []
    ).is_compatible_with(spec.shape)
