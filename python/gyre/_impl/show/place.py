"""Sizes and coordinates of items in rows, and the paths of edges.

The page does the same again when a box is opened or closed (page.js): keep them alike.
"""

import itertools

from gyre._impl.show import layers

LETTER, SMALL_LETTER = 7.23, 6.03  # widths in a fixed font of 12 and 10 pixels
ROW_GAP, COLUMN_GAP, PADDING, HEADER, BEND = 28, 16, 16, 28, 6
TITLE_HEIGHT, LINE_HEIGHT, LOOP_ROOM = 24, 13, 22


def layout(box, arranged=False):
    """Sizes and places of all that is in a box, from the inside out."""
    for child in box.children:
        if child.is_box:
            layout(child, arranged)
        else:
            child.width, child.height = own_size(child)
    if not arranged:
        layers.arrange(box)
    place(box)


def own_size(item):
    """Of an item without an inside, or a closed box."""
    width = LETTER * len(item.title) + 20
    if item.is_box:
        badge = item.lines[0] if item.lines else ""
        return width + 22 + (SMALL_LETTER * len(badge) + 14 if badge else 0), HEADER
    lines = max(map(len, item.lines), default=0)
    return (
        max(width, SMALL_LETTER * lines + 16, 36.0),
        TITLE_HEIGHT + LINE_HEIGHT * len(item.lines) + (4 if item.lines else 0),
    )


def spread(wanted, widths, gap):
    """Left edges in order, without overlaps, as near as can be (in squares) to what is wanted:
    middles."""
    groups = []  # [sum of shifted places, how many, from which index]
    starts, offset = [], 0.0
    for middle, width in zip(wanted, widths, strict=True):
        starts.append(offset)
        groups.append([middle - width / 2 - offset, 1])
        offset += width + gap
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, many = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += many
    placed = []
    for total, many in groups:
        placed += [total / many + starts[len(placed) + i] for i in range(many)]
    return placed


def place(box):
    """Coordinates in the box of its children and edges; then its own size."""
    width_of = {
        i: (BEND if i < 0 else box.children[i].width) for layer in box.layers for i in layer
    }
    middle = _middles(box, width_of)
    left = min((middle[i] - width_of[i] / 2 for i in middle), default=0.0)
    right = max((middle[i] + width_of[i] / 2 for i in middle), default=0.0)
    header = own_size(box)[0]
    room = LOOP_ROOM if box.kind == "loop" else 0
    box.width = max(right - left + 2 * PADDING + 2 * room, header)
    shift = (box.width - (right - left)) / 2 - left
    y = HEADER + PADDING
    spans = []  # (top, bottom) of each row
    for layer in box.layers:
        height = max([box.children[i].height for i in layer if i >= 0], default=0)
        for i in layer:
            middle[i] += shift
            if i >= 0:
                child = box.children[i]
                child.x, child.y = middle[i] - child.width / 2, y
        spans.append((y, y + height))
        y += height + ROW_GAP
    box.height = (y - ROW_GAP if box.layers else y) + PADDING
    _route(box, middle, spans)


def _middles(box, width_of):
    """The middle of every child and bend, from zero on."""
    above, below = {i: [] for i in width_of}, {i: [] for i in width_of}
    for (a, b, _), route in zip(box.edges, box.routes, strict=True):
        chain = [a, *route, b]
        for p, q in itertools.pairwise(chain):
            above[q].append(p)
            below[p].append(q)
    middle = {}
    for layer in box.layers:
        x = 0.0
        total = sum(width_of[i] + COLUMN_GAP for i in layer)
        for i in layer:
            middle[i] = x + width_of[i] / 2 - total / 2
            x += width_of[i] + COLUMN_GAP
    for sweep in range(8):
        near = above if sweep % 2 == 0 else below
        for layer in box.layers if sweep % 2 == 0 else box.layers[::-1]:
            wanted = [
                sum(middle[j] for j in near[i]) / len(near[i]) if near[i] else middle[i]
                for i in layer
            ]
            widths = [width_of[i] for i in layer]
            for i, start, width in zip(
                layer, spread(wanted, widths, COLUMN_GAP), widths, strict=True
            ):
                middle[i] = start + width / 2
    return middle


def _route(box, middle, spans):
    """Points of every edge: from its source down to the end of the row, through the rows that it
    passes, to its target."""
    row_of = {i: row for row, layer in enumerate(box.layers) for i in layer}
    entering = {}
    for at, ((a, b, _), route) in enumerate(zip(box.edges, box.routes, strict=True)):
        entering.setdefault(b, []).append((middle[route[-1] if route else a], at))
    port = {}
    for b, edges in entering.items():
        width = box.children[b].width * (0.3 if box.children[b].is_box else 0.6)
        for k, (_, at) in enumerate(sorted(edges)):
            port[at] = middle[b] + width * ((k + 0.5) / len(edges) - 0.5)
    box.paths = []
    for at, ((a, b, _), route) in enumerate(zip(box.edges, box.routes, strict=True)):
        source, target = box.children[a], box.children[b]
        points = [(middle[a], source.y + source.height), (middle[a], spans[row_of[a]][1])]
        for bend in route:
            top, bottom = spans[row_of[bend]]
            points += [(middle[bend], top), (middle[bend], bottom)]
        points.append((port[at], target.y))
        box.paths.append(points)


def path_of(points):
    """The "d" of an SVG path: curves between rows, straight lines along them."""
    (x, y), *rest = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for k, (u, v) in enumerate(rest):
        if k % 2 == 0 or abs(u - x) < 0.5:
            parts.append(f"L{u:.1f} {v:.1f}")
        else:
            half = (y + v) / 2
            parts.append(f"C{x:.1f} {half:.1f} {u:.1f} {half:.1f} {u:.1f} {v:.1f}")
        x, y = u, v
    return "".join(parts)


def loop_path(box):
    """The arrow back of a loop: from the bottom to the top along its right edge."""
    right, top, bottom = box.width - 11, HEADER + 10, box.height - 12
    return (
        f"M{right - 14:.1f} {bottom:.1f}H{right - 6:.1f}Q{right:.1f} {bottom:.1f} {right:.1f} "
        f"{bottom - 6:.1f}V{top + 6:.1f}Q{right:.1f} {top:.1f} {right - 6:.1f} "
        f"{top:.1f}H{right - 13:.1f}"
    )
