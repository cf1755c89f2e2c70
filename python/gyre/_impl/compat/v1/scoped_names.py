"""Names of nodes behind a scope, and without it."""

import re

# What may stand before a name: the mark of a control edge, or of a place shared with others.
_MARK = r"(\^|loc:@|)"


def with_scope(name: str, scope: str | None) -> str:
    """A name behind a scope; as it is without one."""
    return (
        re.sub(f"^{_MARK}", lambda mark: mark[1] + scope.rstrip("/") + "/", name, count=1)
        if scope
        else name
    )


def without_scope(name: str, scope: str | None) -> str:
    """A name without the scope that it begins with."""
    if not scope:
        return name
    return re.sub(f"^{_MARK}{re.escape(scope.rstrip('/'))}/+", lambda mark: mark[1], name, count=1)


def is_within(name: str, scope: str | None) -> bool:
    """Whether a name stands behind a scope; all do behind none."""
    return not scope or name.startswith(scope.rstrip("/") + "/")
