"""Which names a block (an if or a loop) hands over: those that it changes, and that are used after
it or in a later iteration. Trees have no jumps any more, so that names that are live are found by
going through statements backwards, once more for each loop."""

import ast

from gyre._impl.autograph.conversion import lists
from gyre._impl.autograph.conversion.symbols import (
    activity,
    activity_of,
    chain,
    header,
    key_symbol,
    symbol,
)
from gyre._impl.autograph.conversion.tree import (
    BLOCKS,
    FUNCTIONS,
    TRIES,
    bound_names,
    own_nodes,
    parameter_names,
)


class State:
    """Of a block.

    symbols: names and places below names, as they are written; the first `outputs` are used after
    it.
    places: symbols that are no names -> a node of each.
    inside: places of which items are changed that are no places of the state.
    holders: names of which items are changed -> the indices below them of those that are places;
    None where there are others, so that what the name holds is state as a whole.
    resized: those of them that methods change.
    undefined: names that may have no value before it.  globals: those that are global."""

    def __init__(self, symbols, outputs, places, inside, holders, resized, undefined, global_names):
        self.resized = resized
        self.symbols, self.outputs, self.places, self.inside = symbols, outputs, places, inside
        self.holders, self.undefined, self.globals = holders, undefined, global_names

    def names(self):
        """Those that are names."""
        return [name for name in self.symbols if name not in self.places]


class Function:
    """Of one function: sets the attribute `state` of its blocks,
    and `undefined` of its try statements."""

    def __init__(self, node):
        self.globals, self.nonlocals = set(), set()
        for part in own_nodes(node):
            if isinstance(part, ast.Global):
                self.globals.update(part.names)
            elif isinstance(part, ast.Nonlocal):
                self.nonlocals.update(part.names)
        self.activities = {}  # statement -> its activity
        self.live = {}  # block -> (names live before it, after it)
        self.changed = set()  # names that blocks give values
        self.bound = bound_names(node)
        # whether the names after the statements that are gone through are known
        self.is_final = True
        self._block(node.body, set(), frozenset(), frozenset())
        self._define(node.body, parameter_names(node.args))

    # ---- Backwards: names that are live

    def _block(self, statements, live, always, closures):
        """Names that are live before a block, given those after it. always: those that handlers of
        exceptions use; closures: those that functions defined before use."""
        reaching = []
        for statement in statements:
            found = self._activity(statement)
            closures |= found.closures
            reaching.append(closures)
        for statement, used in zip(reversed(statements), reversed(reaching), strict=True):
            live = self._statement(statement, live | used, always, used) | always | used
        return live

    def _activity(self, statement):
        found = self.activities.get(statement)
        if found is None:
            found = self.activities[statement] = activity(statement)
        return found

    def _statement(self, node, live, always, closures):
        if isinstance(node, ast.If):
            before = (
                header(node).read
                | self._block(node.body, live, always, closures)
                | self._block(node.orelse, live, always, closures)
            )
            self.live[node] = before, live
            return before
        if isinstance(node, (ast.While, ast.For)):
            return self._loop(node, live, always, closures)
        if isinstance(node, TRIES):
            return self._try(node, live, always, closures)
        found = header(node)
        if found is not None:
            inside = self._block(node.body, live, always, closures)
            return found.read | (inside - found.modified)
        found = self._activity(node)
        if self.is_final and isinstance(node, ast.Assign) and hasattr(node, "item"):
            lists.tell_use(node, live)
        if isinstance(node, (ast.Return, ast.Raise)):
            return found.read | always
        return found.read | (live - found.modified)

    def _loop(self, node, live, always, closures):
        closures = closures | self._activity(node).closures
        targets = activity(node.target) if isinstance(node, ast.For) else activity()
        read = header(node).read | targets.read
        before = read | live
        # A name is live at the end of an iteration if it is at its beginning. Going once through
        # the body says which are; once more, with these, what its blocks hand over. Only where that
        # is asked for: else nests would take 2^depth.
        was_final, self.is_final = self.is_final, False
        before = before | (self._block(node.body, before, always, closures) - targets.modified)
        self.is_final = was_final
        if self.is_final:
            self._block(node.body, before, always, closures)
            self.live[node] = before, live
        return before

    def _try(self, node, live, always, closures):
        last = self._block(node.finalbody, live, always, closures) if node.finalbody else live
        caught = set(last) if node.finalbody else set()
        for handler in node.handlers:
            caught |= activity(handler.type).read | (
                self._block(handler.body, last, always, closures) - {handler.name}
            )
        after = self._block(node.orelse, last, always, closures)
        return self._block(node.body, after, always | frozenset(caught), closures)

    # ---- Forwards: names that have a value

    def _define(self, statements, defined):
        """Goes through a block; `defined` grows by what it gives values."""
        for statement in statements:
            found = self._activity(statement)
            if isinstance(statement, BLOCKS):
                self._state(statement, defined)
            elif isinstance(statement, TRIES):
                statement.undefined = sorted(
                    found.modified - defined - self.globals - self.nonlocals
                )
                self.changed.update(statement.undefined)
                defined |= found.modified
                self._try_blocks(statement, defined)
            elif isinstance(statement, ast.With):
                defined |= activity(*statement.items).modified
                self._define(statement.body, defined)
            elif isinstance(statement, ast.Delete):
                self.changed |= found.modified
            defined |= found.modified

    def _try_blocks(self, node, defined):
        for block in (node.body, node.orelse, node.finalbody):
            self._define(block, set(defined))
        for handler in node.handlers:
            self._define(handler.body, defined | {handler.name} - {None})

    def _state(self, node, defined):
        found = self._changes(node)
        before, after = self.live[node]
        outer = self.nonlocals | self.globals
        after = after | (found.modified & outer) | (found.grown & before)
        names = {name for name in found.modified if name in before or name in after}
        places = {
            name: place
            for name, place in found.places.items()
            if _is_one_place(place, found, before)
        }
        inside, holders = self._items(found, before, places)
        holders = {name: keys for name, keys in holders.items() if name not in names}
        inputs = (names & before) - after
        symbols = sorted({*names, *holders, *places}, key=lambda name: (name in inputs, name))
        undefined = sorted(names - defined - outer)
        resized = {chain(item)[0].id for item in found.methods}
        node.state = State(
            symbols,
            len(symbols) - len(inputs),
            places,
            inside,
            holders,
            resized,
            undefined,
            names & self.globals,
        )
        self.changed |= names
        inside = (defined - found.modified) | names
        if isinstance(node, ast.For):
            inside |= activity(node.target).modified
        self._define(node.body, set(inside))
        self._define(node.orelse, set(inside))

    def _items(self, found, before, places):
        """(inside, holders) of the items that a block changes. Adds to the places."""
        whole, inside, holders = set(places), set(), {}
        for item in found.items:
            root, steps = chain(item)
            if root.id not in before or item in found.methods and root.id not in self.bound:
                continue
            place = root
            for step in steps:
                if isinstance(step, ast.Subscript) and not _is_fixed(step.slice, found, before):
                    break
                place = step
            if isinstance(steps[0], ast.Subscript) and root.id in self.bound:
                known = holders.setdefault(root.id, [])
                if place is root:
                    holders[root.id] = None
                elif known is not None:
                    known.append(steps[0].slice)
            if place is not root:
                name = symbol(place)
                places.setdefault(name, place)
                (whole if place is item else inside).add(name)
        return inside - whole, holders

    @staticmethod
    def _changes(node):
        """What a block changes. The test of an if is computed outside of it,
        a while's is part of it."""
        parts = [*node.body, *node.orelse]
        if isinstance(node, ast.While):
            parts.append(node.test)
        elif isinstance(node, ast.For):
            parts.append(node.target)
        return activity_of(parts)


def _is_one_place(node, found, live):
    """Whether a place below a name is there before a block, and is the same throughout."""
    root, steps = chain(node)
    return root.id in live and all(
        _is_fixed(step.slice, found, live) for step in steps if isinstance(step, ast.Subscript)
    )


def _is_fixed(key, found, live):
    """Whether an index is there before a block, and the same throughout."""
    names = {part.id for part in ast.walk(key) if isinstance(part, ast.Name)}
    return (
        key_symbol(key) is not None
        and names <= live
        and not names & found.modified
        and not any(
            symbol(part) in found.places
            for part in ast.walk(key)
            if isinstance(part, ast.Attribute)
        )
    )


def analyse(node):
    """Of a def and those in it; the names that may have no value, or one on some paths only."""
    changed = set()
    for part in ast.walk(node):
        if isinstance(part, FUNCTIONS):
            changed |= Function(part).changed
    return changed
