"""`raise` in a block that is traced: it happens whatever the condition will be. The error says so."""

import dis

_RAISE = dis.opmap["RAISE_VARARGS"]


def explain(error, kind, at):
    """Adds a note to an error that the user's own `raise` raised in a traced block; once."""
    if getattr(error, "__notes__", None) or not _raised_by_statement(error):
        return
    error.add_note(
        f"raised while the {kind} at {at} was traced: a tensor decides there, so that all of its blocks are "
        f"traced, whatever the value. To fail when it runs, write assert, or gyre.debugging.Assert")


def _raised_by_statement(error):
    from gyre._impl.autograph.lines import is_ours
    entry = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    code = entry.tb_frame.f_code
    return not is_ours(code.co_filename) and code.co_code[entry.tb_lasti] == _RAISE
