"""What is in a checkpoint: names, shapes, values."""

from __future__ import annotations

import os

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.annotations import Any
from gyre._impl.checkpoints.safetensors import SafetensorsFile
from gyre._impl.checkpoints.state import SAFETENSORS, bundle_exists, latest_checkpoint
from gyre._impl.shape import TensorShape


def text_of(path) -> str:
    """A path as text. TypeError, ValueError for what is none."""
    if path is None:
        raise TypeError("a checkpoint needs a path, not None")
    text = os.fspath(path)
    if not text:
        raise ValueError("a checkpoint needs a path, not ''")
    return text


def file_of(path) -> str:
    """The file of a path: itself, one that is called so but for its ending, or, for a folder (or a
    path without an ending), one in it."""
    path = text_of(path)
    if path.endswith(SAFETENSORS):
        return path
    return (
        path + SAFETENSORS
        if os.path.isfile(path + SAFETENSORS)
        else os.path.join(path, "variables" + SAFETENSORS)
    )


def open_file(path) -> SafetensorsFile:
    """The file of a path. NotFoundError: there is none."""
    file = file_of(path)
    try:
        return SafetensorsFile(file)
    except (FileNotFoundError, NotADirectoryError):
        path = text_of(path)
        where = (
            ""
            if path == file
            else f": neither {path}.index, as Savers write it, nor {path}{SAFETENSORS}, as "
            f"train.Checkpoint does, nor {file}"
        )
        raise errors.NotFoundError(None, None, f"there is no checkpoint at {path}{where}") from None


def _is_folder_of_core(path: str) -> bool:
    """Whether it is a folder with a checkpoint that C++ wrote."""
    return os.path.isfile(os.path.join(path, "manifest.json")) and not os.path.isfile(file_of(path))


class CheckpointReader:
    """The tensors of a checkpoint, by name: of one of TensorFlow's, which Savers write, of one
    that train.Checkpoint wrote, or of a folder that C++ wrote (gyre/core/session.h). The index is
    read once, values when they are asked for.

    filepattern: its path, without endings. NotFoundError: there is none. InvalidArgumentError,
    DataLossError: damaged.
    """

    def __init__(self, filepattern):
        path = text_of(filepattern)
        if bundle_exists(path) or _is_folder_of_core(path):
            opened = (_gyre.open_bundle if bundle_exists(path) else _gyre.open_checkpoint)(path)
            self._entries, self._read = opened.entries(), lambda name: opened.read(name).numpy()
        else:
            file = open_file(path)
            self._entries, self._read = file.entries(), file.read

    def get_variable_to_shape_map(self) -> dict[str, list[int | None]]:
        """{name: shape}."""
        return {name: TensorShape(dims).as_list() for name, (_, dims) in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict:
        """{name: DType}; of types that Gyre does not have, None."""
        return {name: dtype for name, (dtype, _) in self._entries.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of this name."""
        return tensor_str in self._entries

    def get_tensor(self, tensor_str: str):
        """A value, as numpy has it. NotFoundError: there is none of this name."""
        return self._read(tensor_str)

    def debug_string(self) -> bytes:
        """A line for each tensor: name, dtype, shape."""
        lines = [
            f"{name} ({dtype.name if dtype else '?'}) {TensorShape(dims).as_list()}"
            for name, (dtype, dims) in self._entries.items()
        ]
        return "\n".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file) -> CheckpointReader:
    """A reader of a checkpoint, or of the last one of a folder.
    ValueError: a folder without any."""
    path = text_of(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None and not os.path.isfile(file_of(path)) and not _is_folder_of_core(path):
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = found or path
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file) -> list[tuple[str, list[int | None]]]:
    """[(name, shape)] of what is in a checkpoint, or in the last one of a folder,
    in order of name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file, name: str) -> Any:
    """A value of a checkpoint, or of the last one of a folder, as numpy has it. NotFoundError:
    there is none of this name."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))
