"""Values that wait for variables: of checkpoints that were restored before these were made.

Who waits looks for its variables whenever a new one may have found its place: when a Module, a
Checkpoint or an optimizer gets something, and before the next use of a variable after one was made.
"""

from collections.abc import Callable

# Functions that look, the newest first. Each is told the ids of the handles of variables that have
# their values from newer ones, and adds those that it gives values itself.
waiting: list[Callable[[set[int]], None]] = []
# Variables that were made since somebody looked, while somebody waits.
new: list = []


def created(variable) -> None:
    """Told of each variable that is made."""
    if waiting:
        new.append(variable)


def look() -> None:
    """Lets all that wait look for their variables."""
    new.clear()
    given: set[int] = set()
    for find in tuple(waiting):
        find(given)
