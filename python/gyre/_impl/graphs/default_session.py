"""The session that evaluates where none is named."""

from __future__ import annotations

import threading

from gyre._impl.annotations import Any


class _Sessions(threading.local):
    def __init__(self):
        self.stack = []  # innermost last


open_sessions = _Sessions()


def get_default_session() -> Any:
    """The innermost session of `with`, or the InteractiveSession; None if there is none."""
    return open_sessions.stack[-1] if open_sessions.stack else None


def session_for(session, graph, what: str, kind: str):
    """The session that is given, or the default one. ValueError if there is none, or if that runs
    another graph."""
    if session is None:
        session = get_default_session()
        if session is None:
            does = "evaluate tensor" if kind == "tensor" else "execute operation"
            raise ValueError(
                f"Cannot {does} using `{what}`: No default session is registered. Use `with "
                f"sess.as_default()` or pass an explicit session to `{what[:-1]}session=sess)`"
            )
        if session.graph is not graph:
            does = "evaluate" if kind == "tensor" else "execute"
            raise ValueError(
                f"Cannot use the default session to {does} {kind}: the {kind}'s graph is "
                f"different from the session's graph. Pass an explicit session to "
                f"`{what[:-1]}session=sess)`."
            )
    elif session.graph is not graph:
        raise ValueError(
            f"Cannot use the given session to run {kind}: the {kind}'s graph is different from "
            f"the session's graph."
        )
    return session
