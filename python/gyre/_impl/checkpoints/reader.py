"""What is in a checkpoint: names, shapes, values."""

import os

from gyre import _gyre
from gyre._impl.checkpoints.state import latest_checkpoint
from gyre._impl.shape import TensorShape


class CheckpointReader:
    """The tensors of a checkpoint, by name. The index is read once, values when they are asked for.

    filepattern: its path, without endings. NotFoundError: there is none. InvalidArgumentError: damaged.
    """

    def __init__(self, filepattern):
        self._bundle = _gyre.open_bundle(os.fspath(filepattern))
        self._entries = self._bundle.entries()

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
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
        return self._bundle.read(tensor_str).numpy()

    def debug_string(self) -> bytes:
        """A line for each tensor: name, dtype, shape."""
        lines = [f"{name} ({dtype.name if dtype else '?'}) {TensorShape(dims).as_list()}"
                 for name, (dtype, dims) in self._entries.items()]
        return "\n".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file) -> CheckpointReader:
    """A reader of a checkpoint, or of the last one of a folder. ValueError: a folder without any."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = found
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file) -> list[tuple[str, list[int]]]:
    """[(name, shape)] of what is in a checkpoint, or in the last one of a folder, in order of name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file, name: str):
    """A value of a checkpoint, or of the last one of a folder, as numpy has it. NotFoundError: there is none
    of this name."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))
