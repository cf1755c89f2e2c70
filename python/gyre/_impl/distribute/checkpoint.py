"""Checkpoint: what a training run of several ranks goes on from when some of them, or all, have
died."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Iterator as Steps

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.checkpoints import parts
from gyre._impl.checkpoints.checkpoint import Checkpoint as Variables
from gyre._impl.checkpoints.parts import Cut
from gyre._impl.checkpoints.restoration import CheckpointLoadStatus, Restoration
from gyre._impl.checkpoints.safetensors import SafetensorsFile, can_hold
from gyre._impl.cluster import ranks
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.data.iteration import Iterator
from gyre._impl.distribute.collectives import all_reduce, broadcast
from gyre._impl.module import named_variables

_RANDOM, _PLACES = "gyre.random_state", "gyre.places"  # notes in a part
_LOOK_SECONDS = 0.005
_SHARED_SECONDS = 30.0  # within which what one rank writes is seen by the others


class Checkpoint:
    """A training run that goes on where it was, bit for bit, after any of its ranks has died.

        def train():
            model, optimizer, data = ...  # as on one process, or in a strategy's scope
            checkpoint = gyre.distribute.Checkpoint("/shared/run", model=model,
                                                    optimizer=optimizer, data=data)
            for step in checkpoint.steps(10_000, every=100):
                train_step(next(data))

        gyre.distribute.run(train)

    directory: on this machine's disk if all ranks are there, else in a file system that they share.
    keep: how many checkpoints stay; None: all. The others are what train.Checkpoint takes, and
    iterators over datasets; where random ops without a seed of their own are is kept, too, if
    there is a seed (random.set_seed).

    Variables are the same on all ranks, and each rank writes a part of them. So another number of
    ranks may go on with a checkpoint: variables are whole, and iterators go on after as many
    elements as were taken.
    """

    def __init__(self, directory, /, *, keep: int | None = 3, **objects):
        if keep is not None and keep < 1:
            raise ValueError(f"keep is the number of checkpoints that stay, or None, not {keep}")
        self._directory, self._keep = os.fspath(directory), keep
        self._iterators = {n: v for n, v in sorted(objects.items()) if isinstance(v, Iterator)}
        self._variables = Variables(
            **{name: value for name, value in objects.items() if name not in self._iterators}
        )
        self._generation = self._epoch = 0
        self._cut: Cut | None = None  # the last that this process has begun to save
        self._writer: threading.Thread | None = None
        self._error: BaseException | None = None

    def steps(self, total: int, *, every: int = 100) -> Steps[int]:
        """The numbers of the steps that are left of `total`, for a for statement: restore() comes
        first, save() after each `every` steps and after the last, and wait() at the end."""
        if every < 1:
            raise ValueError(f"every is a number of steps, not {every}")
        for step in range(self.restore(), total):
            yield step
            if (step + 1) % every == 0 or step + 1 == total:
                self.save(step + 1)
        self.wait()

    def restore(self) -> int:
        """Takes up the last checkpoint, and returns how many steps came before it; 0: there is
        none. All ranks call it. What is damaged is passed over, with a warning."""
        self._epoch = _gyre.group_epoch()
        lead = ranks.rank() == 0
        self._generation = parts.begin_generation(self._directory) if lead else 0
        left = parts.published(self._directory) if lead else []
        while True:
            last = left.pop(0) if left else Cut(0, 0)
            self._generation, *of_last = _of_rank_0([self._generation, *last])
            self._await_generation()
            last = Cut(*of_last)
            if last.generation == 0:
                return 0
            files = self._open(last)
            if _holds_everywhere(files is not None):
                self._take_up(last, files or [])
                return last.step

    def save(self, step: int) -> None:
        """Saves what there is after so many steps. All ranks call it, in the same steps; files are
        written in the background, one checkpoint at a time. What went wrong with the one before is
        raised here."""
        self.wait()
        if self._generation == 0:
            raise errors.FailedPreconditionError(
                None, None, "a run begins with restore(), or steps(), which looks for a checkpoint"
            )
        cut = Cut(self._generation, step)
        named = dict(named_variables(self._variables))
        own = _share(named, ranks.rank(), ranks.size())
        # Values never change: what is assigned later is another one.
        values = {name: convert_to_tensor(named[name].read_value()) for name in own}
        notes = {_RANDOM: json.dumps(_gyre.random_state())}
        places: dict[str, list[str]] = {}
        for name, iterator in self._iterators.items():
            place = [_storable(part, name) for part in iterator.place()]
            places[name] = [f"{name}@{i}" for i in range(len(place))]
            values.update(zip(places[name], place, strict=True))
        notes[_PLACES] = json.dumps(places)
        self._cut = cut
        where = ranks.rank(), ranks.size()
        self._writer = threading.Thread(
            target=self._write, args=(cut, *where, values, notes), name="gyre-checkpoint"
        )
        self._writer.start()

    def wait(self) -> None:
        """Until what was saved is there as a whole. What went wrong with it is raised here."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        error, self._error = self._error, None
        cut, self._cut = self._cut, None
        if error is not None:
            raise error
        while cut is not None and not parts.is_published(self._directory, cut):
            self._check_group()
            time.sleep(_LOOK_SECONDS)

    # ---- Saving

    def _write(self, cut: Cut, rank: int, size: int, values: dict, notes: dict) -> None:
        try:
            arrays = {name: (value.dtype.name, value.numpy()) for name, value in values.items()}
            parts.write_part(self._directory, cut, rank, size, arrays, notes)
            if rank > 0:
                return
            while parts.missing_part(self._directory, cut, size) is not None:
                self._check_group()
                time.sleep(_LOOK_SECONDS)
            parts.publish(self._directory, cut, size, self._keep)
        except BaseException as error:
            self._error = error

    def _check_group(self) -> None:
        """UnavailableError: some rank is gone, whose part will not come."""
        lost = _gyre.lost_rank()
        if lost or self._epoch != _gyre.group_epoch():
            raise errors.UnavailableError(
                None, None, f"a checkpoint was not finished: {lost or 'its ranks have parted'}"
            )

    # ---- Restoring

    def _await_generation(self) -> None:
        latest = time.monotonic() + _SHARED_SECONDS
        while (seen := parts.generation_of(self._directory)) < self._generation:
            if time.monotonic() > latest:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"rank {ranks.rank()} does not see what rank 0 has written to "
                    f"{self._directory}: ranks on several machines need a folder that they share",
                )
            time.sleep(_LOOK_SECONDS)
        if seen > self._generation:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"generation {seen} has begun in {self._directory}, and this is generation "
                f"{self._generation}: another run writes there",
            )

    def _open(self, cut: Cut) -> list[dict] | None:
        """What the parts hold; None, with a warning, for what is damaged."""
        try:
            files = parts.open_parts(self._directory, cut)
            return [_contents(file) for file in files]
        except errors.DataLossError as error:
            warnings.warn(
                f"the checkpoint of step {cut.step} is passed over: {error}", stacklevel=4
            )
            return None

    def _take_up(self, cut: Cut, files: list[dict]) -> None:
        path = cut.folder(self._directory)
        arrays = {name: array for file in files for name, array in file["variables"].items()}
        CheckpointLoadStatus(self._variables, Restoration(self._variables, path, arrays))
        rank, as_before = ranks.rank(), len(files) == ranks.size()
        own = files[rank if as_before or rank < len(files) else 0]
        for name, iterator in self._iterators.items():
            places = [file["places"].get(name) for file in files]
            if any(place is None for place in places):
                raise errors.NotFoundError(
                    None, None, f"{path} does not say where the iterator {name!r} was"
                )
            # Of one place nobody knows whether it would have been that of other ranks, too.
            is_common = all(_is_same(place, places[0]) for place in places)
            if as_before or (is_common and (len(files) > 1 or iterator.is_parted)):
                _go_to(iterator, own["places"][name], f"{path}: iterator {name!r}")
            else:
                _go_through(iterator, {int(place[0]) for place in places}, name)
        states = [file["random"] for file in files]
        if not as_before and any(state != states[0] for state in states):
            warnings.warn(
                "each rank has had random numbers of its own: with another number of ranks they "
                "are not what they would have been",
                stacklevel=4,
            )
        seed, runs = own["random"]
        if seed:
            _gyre.set_random_state(seed, runs)


def _share(named: dict, rank: int, size: int) -> list[str]:
    """The variables that a rank saves: each has about as many bytes as the others."""
    loads, shares = [0] * size, [[] for _ in range(size)]
    sizes = {name: _size(variable) for name, variable in named.items()}
    for name in sorted(named, key=lambda name: (-sizes[name], name)):
        least = loads.index(min(loads))
        loads[least] += sizes[name]
        shares[least].append(name)
    return shares[rank]


def _size(variable) -> int:
    count = variable.dtype.size
    for dim in variable.shape.as_list() if variable.shape.rank is not None else []:
        count *= dim if dim is not None else 1
    return count


def _storable(tensor, name: str):
    """A part of an iterator's place, as files can hold it: texts as the bytes of a message."""
    if can_hold(tensor.dtype.name):
        return tensor
    if tensor.dtype.name != "string":
        raise errors.UnimplementedError(
            None,
            None,
            f"the place of the iterator {name!r} cannot be saved: it holds elements of several "
            "sizes. Let shuffle() come before what makes them so (batch, padded_batch, map)",
        )
    text = call("SerializeTensor", tensor)
    return call("DecodeRaw", text, out_type=_gyre.as_dtype("uint8"))


def _contents(file: SafetensorsFile) -> dict:
    try:
        seed, runs = json.loads(file.note(_RANDOM) or "[0, 0]")
        places = json.loads(file.note(_PLACES) or "{}")
        found = {name: [file.read(key) for key in keys] for name, keys in places.items()}
        of_places = {key for keys in places.values() for key in keys}
    except (ValueError, TypeError, AttributeError, errors.NotFoundError) as error:
        raise file.damaged(error) from error
    variables = {name: file.read(name) for name in file.entries() if name not in of_places}
    return {"random": (int(seed), int(runs)), "places": found, "variables": variables}


def _is_same(place: list, other: list) -> bool:
    return len(place) == len(other) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(place, other, strict=True)
    )


def _go_to(iterator: Iterator, place: list, what: str) -> None:
    now, then = iterator.place(), []
    if len(now) != len(place):
        raise errors.InvalidArgumentError(
            None, None, f"{what} is over another dataset: it has {len(place)} parts, not {len(now)}"
        )
    for here, array in zip(now, place, strict=True):
        value = (
            _gyre.tensor(array)
            if can_hold(here.dtype.name)
            else call("ParseTensor", convert_to_tensor(array.tobytes()), out_type=here.dtype)
        )
        if value.dtype != here.dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{what} is over another dataset: {value.dtype.name} where {here.dtype.name} is "
                "wanted",
            )
        then.append(value)
    iterator.go_to(then)


def _go_through(iterator: Iterator, taken: set[int], name: str) -> None:
    """To where iterators were that had as many elements before them."""
    if len(taken) > 1:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"the iterator {name!r} had taken {sorted(taken)} elements on the ranks of the "
            "checkpoint, and another number of ranks cannot go on from there",
        )
    for _ in range(taken.pop()):
        next(iterator)


def _of_rank_0(numbers: list[int]) -> list[int]:
    if ranks.size() == 1:
        return numbers
    agreed = broadcast(convert_to_tensor(numbers, "int64"), name="checkpoint").numpy()
    return [int(number) for number in agreed]


def _holds_everywhere(here: bool) -> bool:
    if ranks.size() == 1:
        return here
    return bool(all_reduce(int(here), "min", name="checkpoint_is_whole").numpy())
