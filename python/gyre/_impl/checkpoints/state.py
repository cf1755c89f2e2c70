"""Which checkpoints a folder holds: the file "checkpoint" in it, and the files of each.

Source of the format: tensorflow/python/training/checkpoint_state.proto, as text.
"""

import ast
import glob
import os
import re
import warnings

from gyre._impl.files import write_file
from gyre._impl.proto.wire import Field, Message

SAFETENSORS = ".safetensors"  # how files of train.Checkpoint end


class CheckpointState(Message):
    """What the file "checkpoint" says: the last path that was saved to, and all that are still
    there, oldest first, with the times of saving in seconds."""

    _fields = {
        "model_checkpoint_path": Field(1, "string"),
        "all_model_checkpoint_paths": Field(2, "string", "many"),
        "all_model_checkpoint_timestamps": Field(3, "double", "many"),
        "last_preserved_timestamp": Field(4, "double"),
    }


def _parse(data: bytes) -> CheckpointState:
    """ValueError for what is no such message."""
    state = CheckpointState()
    text = "".join(chr(byte) if byte < 128 else f"\\{byte:03o}" for byte in data)
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, value = line.partition(":")
        field = CheckpointState._fields.get(name)
        if field is None:
            raise ValueError(f"{line!r} says nothing that is known")
        parsed = _parse_text(value.strip()) if field.kind == "string" else float(value)
        if field.label == "many":
            getattr(state, name).append(parsed)
        else:
            setattr(state, name, parsed)
    return state


# Escapes that mean the same in Python.
_TEXT = re.compile(
    r"""(["'])(?:(?!\1)[^\\]|\\(?:[abfnrtv\\'"]|[0-3]?[0-7]{1,2}|x[0-9a-fA-F]{2}))*\1"""
)


def _parse_text(quoted: str) -> str:
    if _TEXT.fullmatch(quoted) is None:
        raise ValueError(f"{quoted} is no text")
    return ast.literal_eval("b" + quoted).decode(errors="surrogateescape")


def _state_file(folder, latest_filename) -> str:
    return os.path.join(os.fspath(folder), latest_filename or "checkpoint")


def get_checkpoint_state(checkpoint_dir, latest_filename=None) -> CheckpointState | None:
    """What the file "checkpoint" of a folder says, with the folder before paths that are relative;
    None if there is none, and, with a warning, if it is damaged."""
    path = _state_file(checkpoint_dir, latest_filename)
    try:
        with open(path, "rb") as source:
            state = _parse(source.read())
        if not state.model_checkpoint_path:
            raise ValueError("it names no checkpoint")
    except FileNotFoundError:
        return None
    except (ValueError, SyntaxError) as error:
        warnings.warn(f"{path} is damaged, and ignored: {error}", stacklevel=2)
        return None
    folder = os.fspath(checkpoint_dir)
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [
        os.path.join(folder, p) for p in state.all_model_checkpoint_paths
    ]
    return state


def update_checkpoint_state(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    latest_filename=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
    save_relative_paths=False,
) -> None:
    """Writes the file "checkpoint" of a folder, in one step.

    Paths are written as they are if the folder's is absolute, and relative to the folder otherwise,
    or if save_relative_paths says so. ValueError: not as many timestamps as paths.
    """
    folder, paths = os.fspath(save_dir), [os.fspath(p) for p in all_model_checkpoint_paths or []]
    latest, times = os.fspath(model_checkpoint_path), list(all_model_checkpoint_timestamps or [])
    if latest not in paths:
        paths.append(latest)
    if times and len(times) != len(paths):
        raise ValueError(f"there are {len(times)} timestamps for {len(paths)} checkpoints")

    def shown(path: str) -> str:
        relative = save_relative_paths or not os.path.isabs(folder)
        return os.path.relpath(path, folder or ".") if relative else path

    state = CheckpointState(
        model_checkpoint_path=shown(latest),
        all_model_checkpoint_paths=[shown(path) for path in paths],
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )
    write_file(_state_file(folder, latest_filename), str(state).encode())


def latest_checkpoint(checkpoint_dir, latest_filename=None) -> str | None:
    """The path of the last checkpoint of a folder; None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return (
        state.model_checkpoint_path
        if state and checkpoint_exists(state.model_checkpoint_path)
        else None
    )


def checkpoint_exists(checkpoint_prefix) -> bool:
    """Whether there is a checkpoint at a path: TensorFlow's, or one that train.Checkpoint wrote."""
    return bundle_exists(checkpoint_prefix) or os.path.isfile(
        os.fspath(checkpoint_prefix) + SAFETENSORS
    )


def bundle_exists(prefix) -> bool:
    """Whether there is a checkpoint of TensorFlow's at a path."""
    return os.path.isfile(os.fspath(prefix) + ".index")


def remove_checkpoint(
    checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"
) -> None:
    """Removes the files of a checkpoint, and its MetaGraph's."""
    del checkpoint_format_version
    prefix = os.fspath(checkpoint_prefix)
    found = glob.glob(glob.escape(prefix) + ".data-?????-of-?????")
    for path in (prefix + ".index", prefix + SAFETENSORS, *found, f"{prefix}.{meta_graph_suffix}"):
        if os.path.exists(path):
            os.remove(path)
