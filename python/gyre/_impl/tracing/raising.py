"""What errors of users' code that is traced say in addition."""

import collections
import dis
import os
import sys

from gyre._impl.tracing.lines import is_ours, place

_RAISE = dis.opmap["RAISE_VARARGS"]


def explain(error, kind, at):
    """Adds a note to an error that the user's own `raise` raised in a traced block, where it
    happens whatever the condition will be; once."""
    if getattr(error, "__notes__", None) or not _raised_by_statement(error):
        return
    error._gyre_block = f"{kind} at {at}"
    error.add_note(
        f"raised while the {kind} at {at} was traced: a tensor decides there, so that all of its "
        "blocks are traced, whatever the value. To fail when it runs, write assert, or "
        "gyre.debugging.Assert"
    )


def caught():
    """At the beginning of a handler: refuses what a traced block raised, which is raised whatever
    its tensor will be."""
    block = getattr(sys.exception(), "_gyre_block", None)
    if block is not None:
        raise TypeError(
            f"the except at {place()} handles what is raised in the traced {block}: a tensor "
            "decides there, so that all of its blocks are traced, and it would be handled "
            "whatever the value. Choose between values in the branches, or let it fail when it "
            "runs, with assert"
        ) from None


def _raised_by_statement(error):
    entry = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    code = entry.tb_frame.f_code
    return not is_ours(code.co_filename) and code.co_code[entry.tb_lasti] == _RAISE


def explain_recursion(error):
    """Says in a RecursionError of a trace which function it was that called itself."""
    calls, lines, entry = collections.Counter(), {}, error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if not is_ours(code.co_filename):
            name = code.co_filename, code.co_qualname
            calls[name] += 1
            lines[name] = min(code.co_firstlineno, lines.get(name, code.co_firstlineno))
        entry = entry.tb_next
    for (file, function), count in calls.most_common(1):
        if count > 5:
            place = f"{os.path.basename(file)}:{lines[file, function]}"
            text = (
                f"{function.rpartition('.')[2]} at {place} calls itself while it is traced, "
                f"{count} deep when the {sys.getrecursionlimit()} nested calls that Python allows "
                "were used up. Where a tensor decides whether it goes on, make it a gyre.function: "
                "then its calls are calls in the graph. If it ends by itself, allow more with "
                "sys.setrecursionlimit"
            )
            error.args = (text,)
