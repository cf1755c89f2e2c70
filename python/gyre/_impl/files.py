"""Files that others see once they are whole: all that the package writes goes through here."""

import os

from gyre import _gyre


def write_file(path, *pieces) -> None:
    """Makes or replaces a file with the pieces (bytes, or what shows them as a buffer), in one
    step: at any time it is the old one or the new one, and on disk when this returns. Links are
    followed; pipes and devices are written to.

    OSError: the file system refused; the file is what it was."""
    _gyre.write_file(os.fsencode(path), pieces)


def make_folder(path) -> None:
    """Makes a folder, and those that it lies in, unless it is there; "" is the current one."""
    _gyre.make_folder(os.fsencode(path))


class ModelFolder:
    """The folder of a SavedModel while it is written: `with ModelFolder(path) as unfinished: …`
    writes below `unfinished`, which takes the place of `path` as a whole at the end, unless there
    was an exception."""

    def __init__(self, path):
        self._folder = _gyre.new_model_folder(os.fsencode(path))

    def __enter__(self) -> str:
        return self._folder.unfinished()

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                self._folder.commit()
        finally:
            self._folder.discard()
