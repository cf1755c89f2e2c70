"""The program as boxes in boxes: what a picture of it shows, before it has sizes and places.

Every item is a direct child of one box, and edges join children of the same box: a loop, branch or
call takes its inputs as a whole, and has the values inside as arguments of its own.
"""

from dataclasses import dataclass, field

from gyre._impl.show import labels

# More than this is not drawn; calls in calls could be endless.
MOST_ITEMS = 8000
_LOOPS = ("While", "StatelessWhile", "For")
_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
_SIDES = {"then_branch": "then", "else_branch": "else"}
_PLACEHOLDERS = ("Placeholder", "PlaceholderWithDefault")


@dataclass(slots=True, eq=False)
class Item:
    """Something that is drawn.

    kind: op, argument, result, constant, variable, again (a call of what it stands in); for boxes
    program, loop, branches, branch, part, call. lines: below the title."""

    id: int
    kind: str
    title: str
    function: str = ""  # whose node or argument it is; for boxes: where the node stands
    node: object = None
    types: str = ""  # of all its outputs
    lines: list = field(default_factory=list)
    body: str | None = None  # of a box: the function that it shows
    children: list = field(default_factory=list)
    edges: list = field(default_factory=list)  # (index of child, index of child, kind)
    depth: int = 0
    is_gradient: bool = False
    gradient_of: str = ""
    constants: list = field(default_factory=list)  # nodes that are shown as part of this one
    again: int = -1  # of "again": the box that it is a call of
    folded: list = field(default_factory=list)  # (function, node) whose counts this box has, too
    # Of a traced run:
    firings: int = 0
    nanos: int = 0
    iterations: dict | None = None
    heat: float = 0.0
    # Of the layout:
    layers: list = field(default_factory=list)  # ids of children and of bends, from top to bottom
    routes: list = field(default_factory=list)  # per edge: ids of its bends
    width: float = 0
    height: float = 0
    x: float = 0
    y: float = 0
    paths: list = field(default_factory=list)  # per edge: its points

    @property
    def is_box(self):
        """Whether it has an inside."""
        return self.body is not None

    def walk(self):
        """It and all in it, outer ones first."""
        yield self
        for child in self.children:
            yield from child.walk()


def plain(function):
    """The function that a gradient or saving form of it was made of."""
    return _suffix(function)[0]


def _suffix(name):
    """(forward name, what a function is of it): while_body_gradient -> (while_body, gradient)."""
    plain = labels.base(name)
    for end in ("_gradient", "_saving", "_goes_on_back"):
        if plain.endswith(end):
            return plain[: -len(end)], end[1:]
    return plain, ""


class Builder:
    """Makes items of functions."""

    def __init__(self, functions, shapes=None):
        self._functions, self._shapes = functions, shapes or {}
        self._made = 0
        self._open = {}  # function -> its box, while it is being filled

    def build(self, name, outputs=()):
        """The box of the main graph. outputs: (name, "node:slot") that it returns."""
        root = self._item("program", name, body="")
        self._fill(root, "", [(label, *_endpoint(tensor)) for label, tensor in outputs])
        return root

    def _item(self, kind, title, **more):
        item = Item(self._made, kind, title, **more)
        self._made += 1
        return item

    # ---- The inside of a function

    def _fill(self, box, name, results, given=()):
        """Adds the nodes of a function to a box. results: (label, node, slot); given: what a call
        hands over, as texts, which name arguments that have no names of their own."""
        function = self._functions[name]
        outer = self._open.get(name)
        self._open[name] = box
        of_node = {}  # node -> index of child
        used = {source for node in function.nodes.values() for source, _ in node.inputs}
        used.update(source for _, source, _ in results)
        texts, titles = {}, {}  # of nodes, as operands and in full
        for at, (label, kind, source) in enumerate(function.arguments):
            if source in used:
                title = labels.argument(label)
                if labels.base(label) == "arg" and at < len(given) and given[at].isidentifier():
                    title = given[at]
                item = self._item(
                    "argument",
                    labels.base(title) if kind == "resource" else title,
                    function=name,
                    depth=box.depth + 1,
                )
                shape = self._shape(name, source)
                item.lines = [shape[0]] if shape else [kind]
                self._add(box, item, of_node, source)
                texts[source] = item.title
        folded = {}
        for node in function.nodes.values():
            if node.op == "_Arg" or node.name in of_node:
                continue
            value = labels.constant(node) if node.op == "Const" else None
            if value is not None and not any(source == node.name for _, source, _ in results):
                folded[node.name] = node
                texts[node.name] = value
                continue
            item = self._of_node(box, name, node, texts, titles)
            self._add(box, item, of_node, node.name)
            texts.setdefault(
                node.name, item.title if item.kind in ("argument", "variable") else "·"
            )
            titles[node.name] = item.title
        edges = {}
        for node in function.nodes.values():
            to = of_node.get(node.name)
            if to is None:
                continue
            for source, slot in node.inputs:
                if source in of_node:
                    edges.setdefault((of_node[source], to), "control" if slot < 0 else "data")
                elif source in folded:
                    box.children[to].constants.append(folded[source])
        for label, source, _ in results:
            if source in of_node:
                item = self._item("result", label, function=name, depth=box.depth + 1)
                self._add(box, item, of_node, None)
                edges[of_node[source], len(box.children) - 1] = "data"
        box.edges = [(a, b, kind) for (a, b), kind in edges.items() if a != b]
        if outer is None:
            del self._open[name]
        else:
            self._open[name] = outer

    def _add(self, box, item, of_node, name):
        if name is not None:
            of_node[name] = len(box.children)
        box.children.append(item)

    def _shape(self, function, node):
        key = f"{function}/{node}" if function else node
        return [labels.shape(*entry) for entry in self._shapes.get(key, ())]

    def _of_node(self, box, function, node, texts, titles):
        operands = [texts.get(source, "·") for source, slot in node.inputs if slot >= 0]
        item = self._item(
            "op",
            labels.expression(node, operands),
            function=function,
            node=node,
            depth=box.depth + 1,
        )
        self._mark_gradient(item, function, node)
        shapes = self._shape(function, node.name)
        item.lines = (
            [", ".join(shapes[:2]) + (" …" if len(shapes) > 2 else "")]
            if shapes
            else ([node.types] if node.types and len(node.types) < 30 else [])
        )
        item.types = (
            ", ".join(shapes[:8]) + (f", … ({len(shapes)})" if len(shapes) > 8 else "")
            or node.types
        )
        if node.functions:
            self._open_box(item, node, operands, titles)
        elif node.op in _PLACEHOLDERS:
            item.kind, item.title = "argument", node.name
        elif node.op == "VarHandleOp":
            item.kind, item.title = "variable", labels.variable(node)
            dims = node.attrs.get("shape", "").strip("()")
            item.lines = [
                f"{node.attrs.get('dtype', '')}[{dims}]" if dims else node.attrs.get("dtype", "")
            ]
        elif node.op == "Const":
            item.kind, item.title = "constant", labels.constant(node) or "Const"
        return item

    def _mark_gradient(self, item, function, node):
        parts = node.name.split("/")
        # The folders that gradients and those of tapes stand in.
        inside = [i for i, part in enumerate(parts) if part in ("gradients", "gradient_tape")]
        item.is_gradient = bool(inside) or _suffix(function)[1] in ("gradient", "goes_on_back")
        if inside:
            item.gradient_of = "/".join(parts[inside[-1] + 1 : -1])

    # ---- Loops, branches, calls

    def _open_box(self, item, node, operands, titles):
        item.body, item.lines = "", []
        if self._made > MOST_ITEMS:
            item.kind, item.lines, item.body = "op", ["not drawn: too much"], None
            return
        bodies = dict(node.functions)
        nabla = "∇ " if item.is_gradient else ""
        name = labels.base(
            item.gradient_of.split("/")[-1]
            if nabla and item.gradient_of
            else node.name.split("/")[-1]
        )
        if node.op in _LOOPS and "body" in bodies:
            self._loop(item, nabla + name, bodies)
        elif node.op in _BRANCHES:
            choice = titles.get(node.inputs[0][0], operands[0])
            item.kind, item.title = (
                "branches",
                nabla
                + ("case " if node.op.endswith("Case") else "if ")
                + (choice if choice != "·" else ""),
            )
            self._branches(item, node.functions)
        else:
            self._call(item, node, nabla, operands)

    def _loop(self, item, name, bodies):
        item.kind, body = "loop", self._functions[bodies["body"]]
        condition = self._functions.get(bodies.get("cond"))
        short = condition and _single(condition)
        if short:
            item.title = name if labels.is_inner(short[0]) else f"{name}: {short[0]}"
            item.folded.append((condition.name, short[1]))
        else:
            item.title = name
        item.body = body.name
        results = [
            (labels.argument(label), source, slot)
            for (label, _), (source, slot), (_, _, argument) in zip(
                body.results, body.returned, body.arguments, strict=False
            )
            if source != argument
        ]  # what is merely handed on stays out
        if short or condition is None:
            self._fill(item, body.name, results)
            return
        item.body = ""
        goes_on = self._part(item, "part", "goes on if", condition.name)
        inside = self._part(item, "part", "body", body.name, results)
        item.children = [goes_on, inside]
        item.edges = [(0, 1, "control")]

    def _part(self, box, kind, title, function, results=None):
        part = self._item(
            kind,
            title,
            function=function,
            body=function,
            depth=box.depth + 1,
            is_gradient=box.is_gradient,
        )
        if results is None:
            results = labels.results(self._functions[function])
        self._fill(part, function, results)
        return part

    def _branches(self, item, functions):
        order = sorted(functions, key=lambda pair: pair[0] != "then_branch")
        cases = 0
        for attr, function in order:
            title = _SIDES.get(attr)
            if title is None:
                title = f"case {cases}"
                cases += 1
            item.children.append(self._part(item, "branch", title, function))

    def _call(self, item, node, nabla, operands):
        function = node.functions[0][1]
        plain, what = _suffix(function)
        title = {"saving": f"call {plain} (saves for its gradient)", "gradient": f"∇ {plain}"}.get(
            what, f"{nabla}call {plain}"
        )
        if function in self._open:
            item.kind, item.body, item.title = "again", None, "↻ " + title
            item.again = self._open[function].id
            item.lines = ["recursive call"]
            return
        item.kind, item.title, item.body = "call", title, function
        of = self._functions.get(function)
        if of is None:
            item.kind, item.body = "op", None
            return
        self._fill(item, function, labels.results(of), operands)


def _endpoint(tensor):
    name, _, slot = tensor.rpartition(":")
    return (name, int(slot)) if name and slot.isdigit() else (tensor, 0)


def _single(condition):
    """(text, node) of a condition that is one comparison of its arguments and constants."""
    texts = {source: labels.argument(label) for label, _, source in condition.arguments}
    found = None
    for node in condition.nodes.values():
        if node.op == "_Arg":
            continue
        value = labels.constant(node) if node.op == "Const" else None
        if value is not None:
            texts[node.name] = value
        elif found is None and all(source in texts for source, _ in node.inputs):
            found = node
        else:
            return None
    if found is None or not found.inputs or condition.returned[:1] != [(found.name, 0)]:
        return None
    return labels.expression(found, [texts[source] for source, _ in found.inputs]), found.name


def deep_boxes(root, most=500):
    """Boxes to close so that about `most` items are to be seen, the deepest first."""
    closed, items = set(), list(root.walk())
    for depth in range(max(item.depth for item in items), 1, -1):
        if _visible(root, closed) <= most:
            break
        closed.update(item for item in items if item.is_box and item.depth == depth - 1)
    return closed


def _visible(item, closed):
    return 1 if item in closed else 1 + sum(_visible(child, closed) for child in item.children)
