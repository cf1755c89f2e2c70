"""The functions that a graph knows: each is traced once in the scope that calls it and in all
scopes within, and once in the whole graph if it uses nothing of the code around it. Without this
functions that call each other twice, N deep, would be traced 2^N times."""

from gyre import _gyre

_ANYWHERE = -1  # no scope's number


def find(graph, key):
    """What was noted under this key, if it can be called in the scope that is being traced."""
    table = vars(graph).get("_gyre_functions")
    if table is None:
        return None
    for scope in (_ANYWHERE, *_gyre.open_scopes()):
        found = table.get((scope, key))
        if found is not None:
            return found
    return None


def note(graph, key, what, is_free):
    """Notes a function that has been traced in the current scope. is_free: it uses nothing of it,
    and stays whatever becomes of that."""
    scope = _ANYWHERE if is_free else _gyre.open_scopes()[0]
    vars(graph).setdefault("_gyre_functions", {})[scope, key] = what
