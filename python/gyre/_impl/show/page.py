"""Page: a drawn program, as SVG and as an HTML page that needs nothing else."""

import html
import json
import linecache
import os
import sys

from gyre._impl.files import write_file
from gyre._impl.locks import lazily
from gyre._impl.show import labels, model, place, svg

_MOST_LINES = 400  # of source in a page


class Page:
    """A picture of a program. In a notebook it shows itself.

    svg: the whole picture.  html: a page with it, in which boxes open and close.
    root: the boxes.  statistics: of the traced run, if there was one."""

    def __init__(self, root, statistics=None):
        self.root, self.statistics = root, statistics
        place.layout(root)

    @lazily
    def svg(self) -> str:
        """The picture, with everything open; an image file of its own."""
        return svg.draw(self.root)

    @lazily
    def html(self) -> str:
        """A page of its own: no other files, no network.
        Of large programs deep boxes are closed."""
        closed = model.deep_boxes(self.root)
        return _html(self.root, self.statistics, closed)

    def save(self, path) -> "Page":
        """Writes the page, or the picture if the path ends in ".svg". Returns itself."""
        path = os.fspath(path)
        write_file(path, (self.svg if path.lower().endswith(".svg") else self.html).encode())
        return self

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" width="100%" height="620" '
            'style="border:1px solid #8884;border-radius:8px" '
            f'title="{svg.escape(self.root.title)}"></iframe>'
        )

    def __repr__(self):
        return (
            f"<gyre.show {self.root.title}: {sum(1 for _ in self.root.walk())} items, "
            f"{self.root.width:.0f} x {self.root.height:.0f}>"
        )


def _html(root, statistics, closed):
    data = json.dumps(
        {
            "constants": {
                "letter": place.LETTER,
                "small": place.SMALL_LETTER,
                "row": place.ROW_GAP,
                "column": place.COLUMN_GAP,
                "padding": place.PADDING,
                "header": place.HEADER,
                "bend": place.BEND,
                "title": place.TITLE_HEIGHT,
                "line": place.LINE_HEIGHT,
                "loop": place.LOOP_ROOM,
            },
            "items": _items(root, closed),
            "source": sources(root),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{svg.escape(root.title)} – Gyre</title>
<style>{svg.asset("page.css")}</style>
</head>
<body>
<header>
<h1>{svg.escape(root.title)}</h1><span id="sum">{svg.escape(summary(root, statistics))}</span>
<input id="search" type="search" placeholder="Search  ( / )" aria-label="Search">
<span id="hits" role="status"></span>
<button id="open" title="Open all boxes (e)">Open all</button>
<button id="close" title="Close all boxes (c)">Close all</button>
<button id="out" title="Smaller (-)">−</button>
<span id="zoom"></span>
<button id="in" title="Larger (+)">+</button>
<button id="fit" title="Fit (0)">Fit</button>
</header>
<main>{svg.draw(root, hints=False)}</main>
<aside>
<section id="told" aria-live="polite"></section>
<section><h2>Loops</h2><div id="loops"></div></section>
<section><h2>Most time</h2><div id="hottest"></div></section>
<section><h2>Source</h2><div id="source"></div></section>
</aside>
<script type="application/json" id="program">{data}</script>
<script>{svg.asset("layout.js")}</script>
<script>{svg.asset("page.js")}</script>
</body>
</html>
"""


def summary(root, statistics):
    """One line about the whole program."""
    items = list(root.walk())
    loops = sum(item.kind == "loop" for item in items)
    told = [
        f"{sum(item.node is not None for item in items)} nodes",
        f"{loops} loop{'' if loops == 1 else 's'}",
    ]
    if statistics is not None:
        told += [
            f"{labels.time(root.nanos)} in ops",
            f"{labels.size(statistics['peak_bytes'])} at most",
        ]
    return " · ".join(told)


def _items(root, closed):
    """What the page knows of each item, in order of ids."""
    every = sorted(root.walk(), key=lambda item: item.id)
    forward = {}
    for item in every:
        if item.node is not None and not item.is_gradient:
            forward.setdefault((model.plain(item.function), item.node.name), item.id)
            forward.setdefault((None, item.node.name), item.id)
    told = []
    for item in every:
        entry = {
            "id": item.id,
            "kind": item.kind,
            "title": item.title,
            "lines": item.lines,
            "function": item.function,
        }
        if item.node is not None:
            node = item.node
            entry.update(
                op=node.op,
                name=node.name,
                types=item.types,
                line=node.line,
                device=node.device,
                attrs={name: text for name, text in node.attrs.items() if len(text) < 200},
            )
        if item.firings or item.nanos:
            entry.update(
                ran=f"×{labels.count(item.firings)}  {labels.time(item.nanos)}", nanos=item.nanos
            )
        if item.is_gradient:
            entry["gradient"] = True
        if item.gradient_of:
            entry["of"] = item.gradient_of
            target = forward.get(
                (model.plain(item.function), item.gradient_of),
                forward.get((None, item.gradient_of)),
            )
            if target is not None:
                entry["ofId"] = target
        if item.again >= 0:
            entry["again"] = item.again
        if item.constants:
            entry["constants"] = [
                f"{node.name} = {node.attrs.get('value', '')}" for node in item.constants
            ]
        if item.is_box:
            entry.update(
                children=[child.id for child in item.children],
                layers=item.layers,
                edges=[[*edge, route] for edge, route in zip(item.edges, item.routes, strict=True)],
            )
            if item in closed:
                entry["collapsed"] = True
        told.append({name: value for name, value in entry.items() if value not in ("", {}, None)})
    return told


def sources(root):
    """The lines of the user's files that nodes come from: [{"file", "first", "lines"}]."""
    used = {}
    for item in root.walk():
        if item.node is not None and item.node.line:
            file, _, number = item.node.line.rpartition(":")
            if number.isdigit():
                used.setdefault(file, set()).add(int(number))
    paths = {
        os.path.basename(path): path
        for module in list(sys.modules.values())
        if (path := getattr(module, "__file__", None))
    }
    paths.update({os.path.basename(path): path for path in linecache.cache if os.path.isfile(path)})
    found = []
    for file, numbers in sorted(used.items()):
        first, last = max(min(numbers) - 2, 1), min(max(numbers) + 2, min(numbers) + _MOST_LINES)
        lines = linecache.getlines(paths.get(file, file))[first - 1 : last]
        if lines:
            found.append(
                {"file": file, "first": first, "lines": [line.rstrip("\n") for line in lines]}
            )
    return found
