"""Saver: the variables of a session in files, and back. Files are those of gyre's checkpoints."""

import glob
import os
from typing import NamedTuple

import numpy as np

from gyre._impl import checkpoint
from gyre._impl.errors import NotFoundError
from gyre._impl.v1.collections import GraphKeys
from gyre._impl.v1.graph import get_default_graph

_ENDING = ".safetensors"


class CheckpointState(NamedTuple):
    """What the file `checkpoint` of a folder says."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list


class Saver:
    """Saves and restores variables.

    var_list: variables, or {name in the file: variable}; by default all global variables when it is first
    used. max_to_keep: how many of the files that it wrote stay (None, 0: all). ValueError if there are no
    variables.
    """

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5,
                 keep_checkpoint_every_n_hours=10000.0, name=None, restore_sequentially=False,
                 saver_def=None, builder=None, defer_build=False, allow_empty=False, write_version=2,
                 pad_step_number=False, save_relative_paths=False, filename=None):
        del sharded, keep_checkpoint_every_n_hours, name, restore_sequentially, saver_def, builder
        del write_version, filename
        self._given, self._allow_empty, self._reshape = var_list, allow_empty, reshape
        self._keep, self._pad, self._relative = max_to_keep or 0, pad_step_number, save_relative_paths
        self._variables: dict | None = None
        self._paths: list[str] = []
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Settles which variables it is about."""
        given = self._given
        if given is None:
            graph = get_default_graph()
            given = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
                GraphKeys.SAVEABLE_OBJECTS)
        self._variables = dict(given) if isinstance(given, dict) else {v.op.name: v for v in given}
        if not self._variables and not self._allow_empty:
            raise ValueError("No variables to save")

    def _named(self) -> dict:
        if self._variables is None:
            self.build()
        return self._variables

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths that it wrote and that are still there, oldest first."""
        return list(self._paths)

    def set_last_checkpoints(self, last_checkpoints) -> None:
        """Says which paths are to be thought of as written by it."""
        self._paths = list(last_checkpoints)

    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta",
             write_meta_graph=True, write_state=True, strip_default_attrs=False, save_debug_info=False) -> str:
        """Writes the variables of a session, and returns the path to give to restore: `save_path`, with
        "-" and global_step (a number, variable or tensor) if that is given. Of the folder, the file
        "checkpoint" says which path was the last."""
        del meta_graph_suffix, write_meta_graph, strip_default_attrs, save_debug_info
        save_path = os.fspath(save_path)
        if global_step is not None:
            step = global_step if isinstance(global_step, (int, np.integer)) else sess.run(global_step)
            save_path += f"-{int(step):08d}" if self._pad else f"-{int(step)}"
        named = self._named()
        values = sess.run(list(named.values()))
        arrays = {name: (variable.dtype.name, np.asarray(value))
                  for (name, variable), value in zip(named.items(), values)}
        checkpoint.save_arrays(save_path + _ENDING, arrays)
        self._paths = [p for p in self._paths if p != save_path] + [save_path]
        while self._keep and len(self._paths) > self._keep:
            oldest = self._paths.pop(0) + _ENDING
            if os.path.exists(oldest):
                os.remove(oldest)
        if write_state:
            _write_state(os.path.dirname(save_path), self._paths, latest_filename, self._relative)
        return save_path

    def restore(self, sess, save_path) -> None:
        """Gives the variables of a session the values in a file. ValueError for a path that is none, or is
        None; NotFoundError for a variable that the file lacks; ValueError for one of another shape."""
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        if not checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        arrays = checkpoint.load_arrays(os.fspath(save_path) + _ENDING)
        for name, variable in self._named().items():
            if name not in arrays:
                raise NotFoundError(None, None, f"Key {name} not found in checkpoint {save_path}")
            value = arrays[name]
            if self._reshape:
                value = np.reshape(value, variable.shape.as_list())
            variable.load(value, sess)


def _write_state(folder: str, paths: list[str], latest_filename, relative: bool) -> None:
    def shown(path):
        return os.path.basename(path) if relative or not os.path.isabs(path) else path

    lines = [f'model_checkpoint_path: "{shown(paths[-1])}"']
    lines += [f'all_model_checkpoint_paths: "{shown(path)}"' for path in paths]
    with open(os.path.join(folder, latest_filename or "checkpoint"), "w") as out:
        out.write("\n".join(lines) + "\n")


def get_checkpoint_state(checkpoint_dir, latest_filename=None) -> CheckpointState | None:
    """What the file "checkpoint" of a folder says; None if there is none."""
    folder = os.fspath(checkpoint_dir)
    try:
        with open(os.path.join(folder, latest_filename or "checkpoint")) as source:
            rows = [line.strip().partition(": ")[::2] for line in source if ": " in line]
    except FileNotFoundError:
        return None
    named = [(key, os.path.join(folder, value.strip('"'))) for key, value in rows]
    latest = [path for key, path in named if key == "model_checkpoint_path"]
    if not latest:
        return None
    return CheckpointState(latest[0], [p for k, p in named if k == "all_model_checkpoint_paths"])


def latest_checkpoint(checkpoint_dir, latest_filename=None) -> str | None:
    """The last path that was saved in a folder; None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return state.model_checkpoint_path if state and checkpoint_exists(state.model_checkpoint_path) else None


def checkpoint_exists(checkpoint_prefix) -> bool:
    """Whether something was saved at a path."""
    return bool(glob.glob(glob.escape(os.fspath(checkpoint_prefix)) + _ENDING))


def list_variables(ckpt_dir_or_file) -> list[tuple[str, list[int]]]:
    """[(name, shape)] of what is in a file, or in the last one of a folder."""
    path = os.fspath(ckpt_dir_or_file)
    path = latest_checkpoint(path) or path if os.path.isdir(path) else path
    return sorted((name, list(array.shape)) for name, array in checkpoint.load_arrays(path + _ENDING).items())
