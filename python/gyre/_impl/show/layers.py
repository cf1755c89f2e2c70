"""Which row each child of a box stands in, and in which order.

Layered drawing after Sugiyama: rows by longest path, rows that would be too wide broken, bends
where edges pass rows, order by barycentres. In box.layers, numbers >= 0 are children, those below 0
bends.
"""

from collections import defaultdict

WIDEST = 1500  # of a row, in pixels, before it is broken
FARTHEST = 10  # rows that an edge is led around nodes for; longer ones are drawn behind
CROWD = 24  # bends in one row
_SWEEPS = 6
_NEAR = 3  # arguments that are used farther down stand above their first use


def arrange(box):
    """Fills in box.layers and box.routes; children have their sizes."""
    count = len(box.children)
    rows = _rows(count, box.edges)
    _pull_down(box, rows)
    rows = _break_wide(box, rows)
    _order(box, rows)


def _rows(count, edges):
    """The row of each child: one below the lowest of what it needs. Edges that close a cycle count
    for nothing."""
    after = defaultdict(list)
    waits = [0] * count
    for a, b, _ in edges:
        after[a].append(b)
        waits[b] += 1
    rows = [0] * count
    ready = [i for i in range(count) if waits[i] == 0]
    done = 0
    left = set(range(count))
    while left:
        if done == len(ready):  # only cycles are left: open one at its first node
            ready.append(min(left))
        i = ready[done]
        done += 1
        if i not in left:
            continue
        left.discard(i)
        for j in after[i]:
            if j in left:
                rows[j] = max(rows[j], rows[i] + 1)
                waits[j] -= 1
                if waits[j] == 0:
                    ready.append(j)
    return rows


def _pull_down(box, rows):
    """Children that need nothing stand just above what needs them."""
    needs, first = set(), {}
    for a, b, _ in box.edges:
        needs.add(b)
        first[a] = min(first.get(a, rows[b]), rows[b])
    for i, child in enumerate(box.children):
        if i in needs or i not in first:
            continue
        if child.kind != "argument" or first[i] > _NEAR:
            rows[i] = max(first[i] - 1, 0)


def _break_wide(box, rows):
    """Rows again, none wider than WIDEST unless one child is."""
    members = defaultdict(list)
    for i, row in enumerate(rows):
        members[row].append(i)
    broken, at = [0] * len(rows), -1
    for row in sorted(members):
        at += 1
        width = 0
        for i in members[row]:
            width += box.children[i].width + 16
            if width > WIDEST and width > box.children[i].width + 16:
                at += 1
                width = box.children[i].width + 16
            broken[i] = at
    return broken


def _order(box, rows):
    """Makes bends, and sorts each row by where neighbours stand."""
    layers = [[] for _ in range(max(rows, default=-1) + 1)]
    above, below = defaultdict(list), defaultdict(list)
    bends = 0

    def join(a, b):
        above[b].append(a)
        below[a].append(b)

    for i, row in enumerate(rows):
        layers[row].append(i)
    box.routes = [[] for _ in box.edges]
    crowd = [0] * len(layers)
    for at in sorted(
        range(len(box.edges)), key=lambda at: rows[box.edges[at][1]] - rows[box.edges[at][0]]
    ):
        a, b, _ = box.edges[at]
        between = range(rows[a] + 1, rows[b])
        if (
            len(between) >= FARTHEST
            or rows[b] <= rows[a]
            or any(crowd[row] >= CROWD for row in between)
        ):
            continue
        last = a
        for row in between:
            bends += 1
            crowd[row] += 1
            layers[row].append(-bends)
            box.routes[at].append(-bends)
            join(last, -bends)
            last = -bends
        join(last, b)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        place = {}
        for layer in layers if down else reversed(layers):
            near = above if down else below
            own = {i: k / len(layer) for k, i in enumerate(layer)}
            weight = {}
            for i in layer:
                at = [place[j] for j in near[i] if j in place]
                weight[i] = sum(at) / len(at) if at else own[i]
            layer.sort(key=weight.__getitem__)
            place.update((i, (k + 0.5) / len(layer)) for k, i in enumerate(layer))
    box.layers = layers
