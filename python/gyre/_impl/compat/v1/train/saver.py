"""Saver: the variables of a session in TensorFlow's checkpoints, and back."""

from __future__ import annotations

import numbers
import os
import time
from typing import Any

import numpy as np

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.checkpoints.reader import load_checkpoint
from gyre._impl.checkpoints.state import bundle_exists, remove_checkpoint, update_checkpoint_state
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.scoped_names import is_within, with_scope, without_scope
from gyre._impl.compat.v1.train.meta_graph import export_meta_graph, write_meta_graph
from gyre._impl.compat.v1.train.saver_ops import add_saver_ops, restore_eagerly, save_eagerly
from gyre._impl.files import make_folder
from gyre._impl.graphs.graph import get_default_graph, has_default_graph
from gyre._impl.proto import messages
from gyre._impl.unsupported import refuse


class Saver:
    """Saves and restores variables: adds the operations that do so to the default graph.

    var_list: variables, or {name in the checkpoint: variable}; by default all global variables when
    it is made. max_to_keep: how many of the checkpoints that it wrote stay (None, 0: all); of those
    that go, one in keep_checkpoint_every_n_hours stays. reshape: values of other shapes are
    reshaped, not refused.
    filename: where the operations write and read when save() and restore() do not say. sharded:
    kept in the saver_def; here one process writes all. saver_def: of a Saver whose operations are
    there already. In eager execution, var_list must be given. ValueError if there are no variables.
    """

    def __init__(
        self,
        var_list=None,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        saver_def=None,
        builder=None,
        defer_build=False,
        allow_empty=False,
        write_version=messages.SaverDef.V2,
        pad_step_number=False,
        save_relative_paths=False,
        filename=None,
    ):
        del restore_sequentially  # one operation restores all
        refuse(
            builder is not None,
            "builder",
            "checkpoints are written and read in one way: leave it out",
        )
        if write_version != messages.SaverDef.V2:
            raise NotImplementedError(
                "checkpoints are written in TensorFlow's version 2 only: leave out write_version"
            )
        if max_to_keep is not None and _number("max_to_keep", max_to_keep, numbers.Integral) < 0:
            raise ValueError(
                f"max_to_keep must be at least 0 (None and 0: all stay), not {max_to_keep}"
            )
        hours = _number("keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours)
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._given, self._allow_empty, self._reshape = var_list, allow_empty, reshape
        self._pad, self._relative = pad_step_number, save_relative_paths
        self._name, self._filename = name, filename
        self._paths: list[tuple[str, float]] = []  # with the times of saving
        self._next_kept = time.time() + hours * 3600
        self._variables: dict | None = None  # in eager execution, by name
        self._shapes: dict = {}  # of the variables, by name, where it added the operations
        self.saver_def: Any = None  # a SaverDef, once there is something to save
        self._is_built = saver_def is not None
        self._numbers = {
            "max_to_keep": int(max_to_keep or 0),
            "sharded": bool(sharded),
            "keep_checkpoint_every_n_hours": hours,
        }
        if saver_def is not None:
            self.saver_def = _behind_scope(saver_def, name)
            self._numbers = {key: getattr(saver_def, key) for key in self._numbers}
        elif not defer_build:
            self.build()

    def build(self) -> None:
        """Adds its operations, for the variables that there are now."""
        given = self._given
        if not has_default_graph():
            if given is None:
                raise RuntimeError(
                    "When eager execution is enabled, `var_list` must specify a list or dict of "
                    "variables to save"
                )
            refuse(
                self._filename is not None,
                "filename",
                "no graph holds it in eager execution: name the file in save() and restore()",
            )
            self._variables, self._is_built = _named(given), True
            return
        if self._is_built:
            return
        if given is None:
            graph = get_default_graph()
            given = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
                GraphKeys.SAVEABLE_OBJECTS
            )
        variables = _named(given)
        if variables:
            self._shapes = {name: variable.shape for name, variable in variables.items()}
            self.saver_def = messages.SaverDef(version=messages.SaverDef.V2, **self._numbers)
            for field, name in add_saver_ops(
                variables, self._reshape, self._name, self._filename
            ).items():
                setattr(self.saver_def, field, name)
        elif not self._allow_empty:
            raise ValueError("No variables to save")
        self._is_built = True

    def _is_empty(self) -> bool:
        """Whether there is nothing to save. RuntimeError before build()."""
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        return self.saver_def is None and self._variables is None

    # ---- As a message

    def as_saver_def(self) -> messages.SaverDef | None:
        """The names of its operations, and what it was told."""
        return self.saver_def

    def to_proto(self, export_scope=None) -> messages.SaverDef | None:
        """The same with names without export_scope; None if they are not in that."""
        if not is_within(self.saver_def.filename_tensor_name, export_scope):
            return None
        return _renamed(self.saver_def, lambda name: without_scope(name, export_scope))

    @staticmethod
    def from_proto(saver_def: messages.SaverDef, import_scope=None) -> Saver:
        """The Saver of operations that are there already, behind import_scope."""
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename=None,
        collection_list=None,
        as_text=False,
        export_scope=None,
        clear_devices=False,
        clear_extraneous_savers=False,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        """The default graph with this Saver as a MetaGraphDef, written to a file if one is named
        (see train.export_meta_graph)."""
        return export_meta_graph(
            filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # ---- Which checkpoints there are

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths that it wrote and that are still there, oldest first."""
        return [path for path, _ in self._paths]

    def set_last_checkpoints(self, last_checkpoints) -> None:
        """Says which paths are to be thought of as written by it, oldest first."""
        self._paths = [(path, np.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time) -> None:
        """The same for pairs (path, time in seconds)."""
        self._paths = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths) -> None:
        """Counts these paths as written by it, as far as they are there: after a restart."""
        self._paths = [
            (path, os.path.getmtime(os.fspath(path) + ".index"))
            for path in checkpoint_paths
            if bundle_exists(path)
        ]

    def _record(self, path: str) -> list[str]:
        """Counts a checkpoint in; returns those that are to be removed for it."""
        self._paths = [known for known in self._paths if known[0] != path] + [(path, time.time())]
        keep, outdated = self._numbers["max_to_keep"], []
        while keep and len(self._paths) > keep:
            oldest, saved_at = self._paths.pop(0)
            if saved_at > self._next_kept:
                self._next_kept += self._numbers["keep_checkpoint_every_n_hours"] * 3600
            else:
                outdated.append(oldest)
        return outdated

    # ---- Saving and restoring

    def save(
        self,
        sess,
        save_path,
        global_step=None,
        latest_filename=None,
        meta_graph_suffix="meta",
        write_meta_graph=True,
        write_state=True,
        strip_default_attrs=False,
        save_debug_info=False,
    ) -> str | None:
        """Writes the variables of a session, and returns the path to give to restore: `save_path`,
        with "-" and global_step (a number, variable or tensor) if that is given. Of the folder,
        which is made if need be, the file "checkpoint" says which paths there are.
        write_meta_graph: the graph is written beside it. None if there is nothing to save, and
        allow_empty."""
        prefix = os.fspath(save_path)
        if os.path.basename(latest_filename or "checkpoint") != (latest_filename or "checkpoint"):
            raise ValueError(
                f"'latest_filename' must not contain path components: {latest_filename}"
            )
        if global_step is not None:
            prefix += f"-{_number_of(global_step, sess):0{8 if self._pad else 1}d}"
        if self._is_empty():
            return None
        folder = os.path.dirname(prefix)
        make_folder(folder)
        if self._variables is not None:
            save_eagerly(self._variables, prefix)
        else:
            sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix})
        # Whatever stops the process: what "checkpoint" names is complete, and there.
        if write_meta_graph and self._variables is None:
            self._write_graph(
                sess.graph, f"{prefix}.{meta_graph_suffix}", strip_default_attrs, save_debug_info
            )
        outdated = self._record(prefix)
        if write_state:
            update_checkpoint_state(
                folder,
                prefix,
                self.last_checkpoints,
                latest_filename,
                save_relative_paths=self._relative,
            )
        for path in outdated:
            remove_checkpoint(path, meta_graph_suffix=meta_graph_suffix)
        return prefix

    def _write_graph(
        self, graph, path: str, strip_default_attrs: bool, save_debug_info: bool
    ) -> None:
        if strip_default_attrs or save_debug_info:
            with graph.as_default():
                self.export_meta_graph(
                    path, strip_default_attrs=strip_default_attrs, save_debug_info=save_debug_info
                )
        else:
            write_meta_graph(path, graph, self.saver_def)

    def restore(self, sess, save_path) -> None:
        """Gives the variables of a session the values of a checkpoint. ValueError for a path that
        is none, or is None; NotFoundError for a variable that the checkpoint lacks;
        InvalidArgumentError for one of another dtype or shape."""
        if self._is_empty():
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not bundle_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        if self._variables is not None:
            restore_eagerly(self._variables, prefix, self._reshape)
            return
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix})
        except errors.InvalidArgumentError as error:
            raise _with_shapes(error, self._shapes, prefix) from error


def _number(name: str, value, kind=numbers.Real) -> Any:
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} must be {'a number' if kind is numbers.Real else 'an integer'}, not {value!r}"
        )
    return value


def _named(given) -> dict:
    """{name in the checkpoint: variable}. ValueError for two of one name."""
    if isinstance(given, dict):
        return dict(given)
    named: dict = {}
    for variable in given:
        name = variable.name.partition(":")[0]
        if named.setdefault(name, variable) is not variable:
            raise ValueError(f"At least two variables have the same name: {name}")
    return named


def _number_of(global_step, sess) -> int:
    if isinstance(global_step, (int, np.integer)):
        return int(global_step)
    tensor = getattr(global_step, "handle", global_step)
    is_eager = isinstance(tensor, _gyre.Tensor) and not tensor.is_symbolic
    return int(global_step) if is_eager else int(sess.run(global_step))


def _with_shapes(error, shapes: dict, prefix: str):
    """An error of restoring: the same, with the variables whose shapes are others in the
    checkpoint."""
    found = load_checkpoint(prefix).get_variable_to_shape_map()
    wrong = [
        f"{name!r} has shape {found[name]} there, but the variable has {shape.as_list()}"
        for name, shape in shapes.items()
        if name in found and not shape.is_compatible_with(found[name])
    ]
    if not wrong:
        return error
    return errors.InvalidArgumentError(
        error.node_def, error.op, f"{prefix} does not fit: {'; '.join(wrong)}"
    )


_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def _renamed(saver_def: messages.SaverDef, rename) -> messages.SaverDef:
    copy = messages.SaverDef.FromString(saver_def.SerializeToString())
    for field in _NAMES:
        setattr(copy, field, rename(getattr(copy, field)))
    return copy


def _behind_scope(saver_def: messages.SaverDef, scope) -> messages.SaverDef:
    return _renamed(saver_def, lambda name: with_scope(name, scope))
