"""Writes a laid out program as SVG."""

import html
from pathlib import Path

from gyre._impl.show import place

_ASSETS = Path(__file__).parent / "assets"
_TIP = "M0 -4L7 0L0 4Z"
# Letters that XML cannot hold.
_BARRED = {code: "\N{REPLACEMENT CHARACTER}" for code in range(32) if code not in (9, 10, 13)}


def asset(name):
    """The text of a file that is part of pictures and pages."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def escape(text):
    """Text for XML."""
    return html.escape(text.translate(_BARRED), quote=True)


def draw(root, hints=True):
    """The whole picture. hints: whether items say more when pointed at. Colours are the style's;
    for viewers that do not know its variables, elements have plain ones, too."""
    width, height = f"{root.width:.0f}", f"{root.height:.0f}"
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="gyre" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" role="img" font-family="monospace" '
            'font-size="12">'
            f"<title>{escape(root.title)}</title><style>{asset('picture.css')}</style>"
            f'<g id="all">'
        )
    ]
    _box(root, parts, hints)
    parts.append("</g></svg>\n")
    return "".join(parts)


def _open_item(item, classes, parts, hints):
    gradient = " gradient" if item.is_gradient else ""
    parts.append(
        f'<g id="i{item.id}" class="{classes} {item.kind}{gradient}" '
        f'transform="translate({item.x:.1f} {item.y:.1f})">'
    )
    if hints:
        parts.append(f"<title>{escape(hint(item))}</title>")


def hint(item):
    """What an item is, in lines."""
    told = [item.title]
    if item.node is not None:
        told.append(f"{item.node.op} {item.node.name}")
    told += item.lines
    if item.gradient_of:
        told.append(f"gradient of {item.gradient_of}")
    if item.node is not None and item.node.line:
        told.append(item.node.line)
    return "\n".join(told)


def _leaf(item, parts, hints):
    _open_item(item, "item", parts, hints)
    round_ = {"argument": 12, "result": 12, "op": 5, "again": 5}.get(item.kind, 3)
    rect = f'width="{item.width:.1f}" height="{item.height:.1f}" rx="{round_}"'
    parts.append(f'<rect class="shape" fill="#ffffff" stroke="#c3c9d4" {rect}/>')
    if item.heat > 0.02:
        parts.append(
            f'<rect class="heat" fill="#ff7a1a" {rect} opacity="{0.75 * item.heat**0.5:.2f}"/>'
        )
    middle = item.width / 2
    parts.append(f'<text x="{middle:.1f}" y="16" text-anchor="middle">{escape(item.title)}</text>')
    for i, line in enumerate(item.lines):
        parts.append(
            f'<text class="small" x="{middle:.1f}" y="{29 + place.LINE_HEIGHT * i}" '
            f'text-anchor="middle">{escape(line)}</text>'
        )
    parts.append("</g>")


def _box(item, parts, hints):
    _open_item(item, "box", parts, hints)
    width, height = item.width, item.height
    parts.append(
        '<rect class="frame" fill="none" stroke="#5a6478" '
        f'width="{width:.1f}" height="{height:.1f}" rx="8"/>'
        f'<g class="header" tabindex="0" role="button" aria-expanded="true">'
        f'<rect fill="none" x="0.7" y="0.7" width="{width - 1.4:.1f}" '
        f'height="{place.HEADER - 1.4:.1f}" rx="7"/>'
        f'<path class="fold" fill="none" stroke="#5a6478" d="M9 12L13 16L17 12"/>'
        f'<text class="title" x="26" y="18">{escape(item.title)}</text>'
    )
    if item.lines:
        parts.append(
            f'<text class="small badge" x="{width - 10:.1f}" y="18" text-anchor="end">'
            f"{escape(item.lines[0])}</text>"
        )
    parts.append("</g>")
    parts.append('<g class="inside">')
    if item.kind == "loop":
        parts.append(
            f'<path class="back" fill="none" stroke="#1f8a5b" d="{place.loop_path(item)}"/>'
            f'<path class="tip" d="{_TIP}" '
            f'transform="translate({item.width - 24:.1f} {place.HEADER + 10}) rotate(180)"/>'
        )
    row_of = {i: row for row, layer in enumerate(item.layers) for i in layer}
    for at, ((a, b, kind), route, points) in enumerate(
        zip(item.edges, item.routes, item.paths, strict=True)
    ):
        far = " far" if not route and row_of[b] - row_of[a] != 1 else ""
        parts.append(
            f'<path id="e{item.id}-{at}" class="edge {kind}{far}" fill="none" stroke="#9aa3b2" '
            f'd="{place.path_of(points)}"/>'
        )
    for child in item.children:
        if child.is_box:
            _box(child, parts, hints)
        else:
            _leaf(child, parts, hints)
    parts.append("</g></g>")
