"""Checkpoints in parts: each rank writes one; a manifest, which is written last, makes them one.

    FOLDER/generation                      the last generation
    FOLDER/step-150.3/0-of-2.safetensors   rank 0's part of what generation 3 had after 150 steps
    FOLDER/step-150.3/1-of-2.safetensors
    FOLDER/step-150.3/manifest.json        the parts, and their sizes

A generation begins whenever ranks come together. What is of a later one counts, and a process of an
earlier one, which may come back from wherever it was, publishes nothing.
"""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from gyre._impl import errors
from gyre._impl.checkpoints.safetensors import SafetensorsFile, write_arrays
from gyre._impl.files import make_folder, write_file

_MANIFEST, _GENERATION = "manifest.json", "generation"


class Cut(NamedTuple):
    """A checkpoint's name; the greatest is the last."""

    generation: int
    step: int

    def folder(self, directory: str) -> str:
        """Where its files are."""
        return os.path.join(directory, f"step-{self.step}.{self.generation}")


def _cuts(directory: str) -> list[Cut]:
    """All that were begun, the last one first."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    found = [re.fullmatch(r"step-(\d+)\.(\d+)", name) for name in names]
    return sorted((Cut(int(m[2]), int(m[1])) for m in found if m), reverse=True)


def is_published(directory: str, cut: Cut) -> bool:
    """Whether it is there as a whole."""
    return os.path.exists(os.path.join(cut.folder(directory), _MANIFEST))


def published(directory: str) -> list[Cut]:
    """Those that are there as a whole, the last one first."""
    return [cut for cut in _cuts(directory) if is_published(directory, cut)]


def generation_of(directory: str) -> int:
    """The last generation that has begun; 0: none has."""
    try:
        with open(os.path.join(directory, _GENERATION), "rb") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0
    except ValueError as error:
        raise errors.DataLossError(
            None, None, f"{os.path.join(directory, _GENERATION)} is damaged: {error}"
        ) from error


def begin_generation(directory: str) -> int:
    """Begins the next one."""
    make_folder(directory)
    last = max((cut.generation for cut in _cuts(directory)), default=0)
    generation = 1 + max(last, generation_of(directory))
    write_file(os.path.join(directory, _GENERATION), str(generation).encode())
    return generation


def part_of(directory: str, cut: Cut, rank: int, size: int) -> str:
    """The file of a rank."""
    return os.path.join(cut.folder(directory), f"{rank}-of-{size}.safetensors")


def write_part(directory: str, cut: Cut, rank: int, size: int, arrays, notes) -> None:
    """Writes the file of a rank: see write_arrays."""
    write_arrays(part_of(directory, cut, rank, size), arrays, notes)


def missing_part(directory: str, cut: Cut, size: int) -> int | None:
    """A rank that has not written its part; None: all have."""
    parts = (part_of(directory, cut, rank, size) for rank in range(size))
    return next((rank for rank, part in enumerate(parts) if not os.path.exists(part)), None)


def publish(directory: str, cut: Cut, size: int, keep: int | None) -> None:
    """Makes the parts, which are all there, a checkpoint, and removes those before it that are too
    many, and what was never finished. FailedPreconditionError: another generation has begun."""
    newest = generation_of(directory)
    if newest > cut.generation:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"the checkpoint of step {cut.step} is not published: generation {newest} has begun in "
            f"{directory}, and this process is of generation {cut.generation}: others have taken "
            "its place",
        )
    parts = [part_of(directory, cut, rank, size) for rank in range(size)]
    manifest = {
        "step": cut.step,
        "parts": [{"file": os.path.basename(p), "bytes": os.path.getsize(p)} for p in parts],
    }
    write_file(os.path.join(cut.folder(directory), _MANIFEST), json.dumps(manifest).encode())
    there = published(directory)
    stays = set(there if keep is None else there[:keep]) | {cut}
    for old in _cuts(directory):
        if old not in stays and old < cut:
            _remove(directory, old)


def _remove(directory: str, cut: Cut) -> None:
    folder = cut.folder(directory)
    try:
        for name in sorted(os.listdir(folder), key=lambda name: name != _MANIFEST):
            os.remove(os.path.join(folder, name))  # without its manifest it is none
        os.rmdir(folder)
    except OSError:  # somebody of an older generation still writes there: it goes next time
        pass


def open_parts(directory: str, cut: Cut) -> list[SafetensorsFile]:
    """The files of a checkpoint, by rank. DataLossError: some are not what was published."""
    path = os.path.join(cut.folder(directory), _MANIFEST)
    try:
        with open(path, "rb") as file:
            manifest = json.loads(file.read())
        parts = [(str(part["file"]), int(part["bytes"])) for part in manifest["parts"]]
        files = []
        for name, size in parts:
            part = os.path.join(cut.folder(directory), os.path.basename(name))
            if os.path.getsize(part) != size:
                raise ValueError(f"{part} has {os.path.getsize(part)} bytes, not {size}")
            files.append(SafetensorsFile(part))
        return files
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise errors.DataLossError(None, None, f"{path} is damaged: {error}") from error
