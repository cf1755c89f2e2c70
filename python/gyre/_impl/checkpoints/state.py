"""Which checkpoints a folder holds: the file "checkpoint" in it, and the files of each.

Source of the format: tensorflow/python/training/checkpoint_state.proto, as text.
"""

from __future__ import annotations

import glob
import os
import warnings

from gyre._impl.files import write_file
from gyre._impl.proto import messages
from gyre._impl.proto.forms import from_text, to_text

SAFETENSORS = ".safetensors"  # how files of train.Checkpoint end


def _state_file(folder, latest_filename) -> str:
    return os.path.join(os.fspath(folder), latest_filename or "checkpoint")


def state_of_file(checkpoint_dir, latest_filename=None) -> messages.CheckpointState | None:
    """What the file "checkpoint" of a folder says: paths may be relative to the folder. None if
    there is none, and, with a warning, if it is damaged."""
    path = _state_file(checkpoint_dir, latest_filename)
    try:
        with open(path, "rb") as source:
            state = from_text(messages.CheckpointState, source.read())
        if not state.model_checkpoint_path:
            raise ValueError("it names no checkpoint")
    except FileNotFoundError:
        return None
    except ValueError as error:
        warnings.warn(f"{path} is damaged, and ignored: {error}", stacklevel=3)
        return None
    return state


def get_checkpoint_state(checkpoint_dir, latest_filename=None) -> messages.CheckpointState | None:
    """What the file "checkpoint" of a folder says, with the folder before paths that are relative;
    None if there is none, and, with a warning, if it is damaged."""
    state = state_of_file(checkpoint_dir, latest_filename)
    if state is None:
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
    if save_relative_paths says so, or if the folder's name is no text, which the file could not
    hold. ValueError: not as many timestamps as paths.
    """
    folder, paths = os.fspath(save_dir), [os.fspath(p) for p in all_model_checkpoint_paths or []]
    latest, times = os.fspath(model_checkpoint_path), list(all_model_checkpoint_timestamps or [])
    if latest not in paths:
        paths.append(latest)
    if times and len(times) != len(paths):
        raise ValueError(f"there are {len(times)} timestamps for {len(paths)} checkpoints")

    relative = save_relative_paths or not os.path.isabs(folder) or not _is_text(folder)

    def shown(path: str) -> str:
        return os.path.relpath(path, folder or ".") if relative else path

    state = messages.CheckpointState(
        model_checkpoint_path=shown(latest),
        all_model_checkpoint_paths=[shown(path) for path in paths],
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )
    write_file(_state_file(folder, latest_filename), to_text(state).encode())


def _is_text(path: str) -> bool:
    """Whether the bytes of a path are UTF-8: Python makes lone surrogates of others."""
    return all(not "\ud800" <= char <= "\udfff" for char in path)


def latest_checkpoint(checkpoint_dir, latest_filename=None) -> str | None:
    """The path of the last checkpoint of a folder; None if there is none."""
    state = state_of_file(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path = os.path.join(os.fspath(checkpoint_dir), state.model_checkpoint_path)
    return path if checkpoint_exists(path) else None


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
