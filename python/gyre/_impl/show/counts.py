"""What a traced run has counted, laid over the items of a program."""

from gyre._impl.show import labels


def apply(root, statistics):
    """Adds counts and times to items, and a line that says them. Items of a function that is called
    from several places have the sum of all its calls."""
    nodes = {
        (entry["function"], entry["name"]): entry
        for entry in statistics["nodes"]
        if not entry.get("is_plumbing")
    }
    loops = {(entry["function"], entry["name"]): entry for entry in statistics["loops"]}
    of_function = {}
    for (function, _), entry in nodes.items():
        of_function.setdefault(function, []).append(entry)
    for item in root.walk():
        if item.node is not None:
            entry = nodes.get((item.function, item.node.name))
            if entry is not None and not item.is_box:
                item.firings = entry["firings"]
                item.nanos = 0 if item.kind == "again" else entry["total_nanos"]
                item.lines.append(_times(item.firings, item.nanos))
            if item.kind == "loop":
                item.iterations = loops.get((item.function, item.node.name))
    _boxes(root, of_function)
    hottest = max((item.nanos for item in root.walk() if not item.is_box), default=0) or 1
    for item in root.walk():
        if not item.is_box:
            item.heat = item.nanos / hottest


def _times(firings, nanos):
    return f"×{labels.count(firings)}" + (f"  {labels.time(nanos)}" if nanos else "")


def _boxes(root, of_function):
    def functions(item):
        """Of all functions in a box, what they are called."""
        found = {child.body for child in item.walk() if child.is_box and child.body}
        found.update(function for child in item.walk() for function, _ in child.folded)
        return found

    for item in root.walk():
        if not item.is_box:
            continue
        inside = functions(item)
        if item.kind == "program":
            inside.add("")
        item.nanos = sum(
            entry["total_nanos"]
            for function in inside
            for entry in of_function.get(function, ())
            if not entry.get("is_call")
        )
        note = labels.time(item.nanos) if item.nanos else ""
        if item.iterations is not None:
            item.firings, entered = item.iterations["iterations"], item.iterations["entered"]
            note = (
                f"×{labels.count(item.firings)}"
                + (f" in {labels.count(entered)} goes" if entered > 1 else "")
                + ("  " + note if note else "")
            )
        elif item.kind in ("branch", "call", "part"):
            item.firings = max(
                (
                    entry["firings"]
                    for entry in of_function.get(item.body, ())
                    if entry["op"] != "Const"
                ),
                default=0,
            )
            if item.firings and item.kind != "part":
                note = f"×{labels.count(item.firings)}  {note}"
            elif item.kind == "branch" and any(child.kind == "op" for child in item.children):
                note = "not taken"
        if note:
            item.lines = [note]
