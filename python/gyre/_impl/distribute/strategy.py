"""Strategies: the same step on several replicas, each with its part of the data, and one set of
variables."""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import nest
from gyre._impl.cluster import ranks
from gyre._impl.config import list_logical_devices
from gyre._impl.convert import call, call_list, calls, convert_to_tensor
from gyre._impl.data.dataset import Dataset
from gyre._impl.device import device
from gyre._impl.distribute import collectives, context
from gyre._impl.distribute.in_turn import InTurn
from gyre._impl.distribute.reducing import all_reduce_all
from gyre._impl.ops.table import reduce_sum
from gyre._impl.tracing.user_code import user_code
from gyre._impl.variable import variable_creator_scope


class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


def _reduction(reduce_op) -> str:
    try:
        return ReduceOp(getattr(reduce_op, "value", str(reduce_op).upper())).value.lower()
    except ValueError:
        raise ValueError(f"reduce_op is ReduceOp.SUM or ReduceOp.MEAN, not {reduce_op!r}") from None


class PerReplica:
    """A value, or a structure of values, for each replica of this process."""

    def __init__(self, values):
        self.values = tuple(values)

    def __repr__(self) -> str:
        return f"PerReplica{self.values!r}"


nest.register(
    PerReplica,
    lambda value: [(f"[{i}]", one) for i, one in enumerate(value.values)],
    lambda _, values: PerReplica(values),
)


class InputContext:
    """Of which of several pipelines a function makes the dataset."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Of a batch for all replicas, the part of one. ValueError if it cannot be parted."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync


class ReplicaContext:
    """One replica, from inside: what a function that Strategy.run calls finds as
    gyre.distribute.get_replica_context()."""

    def __init__(self, strategy: Strategy, local_id: int, turns: InTurn | None):
        self._strategy, self._local_id, self._turns = strategy, local_id, turns

    @property
    def strategy(self) -> Strategy:
        """Whose replica it is."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """Which of them this is."""
        return ranks.rank() * self._strategy._local_replicas + self._local_id

    def merge_call(self, merge_fn: Callable[..., Any], args=(), kwargs=None):
        """What merge_fn(strategy, *args) returns, called once for all replicas of this process,
        with the arguments of all (PerReplica, where there are several)."""
        if self._turns is not None:
            return self._turns.merge(self._local_id, merge_fn, args, kwargs or {})
        with context.within(self._strategy, None):
            return user_code(merge_fn)(self._strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op, value, options=None):
        """A structure of tensors, each reduced over all replicas, for each of them."""
        del options
        op = _reduction(reduce_op)
        return self.merge_call(lambda strategy, value: strategy._reduce_all(op, value), (value,))

    def all_gather(self, value, axis: int, options=None):
        """A structure of tensors, each joined along an axis with those of the other replicas."""
        del options
        return self.merge_call(lambda strategy, value: strategy.gather(value, axis), (value,))

    def apply_gradients(self, pairs: list, apply: Callable[[list], Any]):
        """apply(pairs), once, with the sums of all replicas' gradients."""

        def merged(strategy: Strategy, gradients):
            sums = strategy._reduce_all("sum", gradients)
            return apply([(g, v) for g, (_, v) in zip(sums, pairs, strict=True)])

        return self.merge_call(merged, ([_dense(g) for g, _ in pairs],))


class Strategy:
    """One replica, in this process: what programs have that name no other strategy."""

    _local_replicas = 1

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas take each step together."""
        return ranks.size() * self._local_replicas if self._spans_ranks else self._local_replicas

    @property
    def _spans_ranks(self) -> bool:
        return False

    def scope(self) -> AbstractContextManager[Any]:
        """A context: variables that are made in it begin with what rank 0 has."""
        stack = ExitStack()
        stack.enter_context(context.within(self, None))
        if self._spans_ranks and ranks.size() > 1:
            stack.enter_context(variable_creator_scope(_from_rank_0))
        return stack

    def run(self, fn: Callable[..., Any], args=(), kwargs=None, options=None):
        """Calls fn on each replica, which takes its own of PerReplica arguments: what it returns;
        PerReplica, where this process has several."""
        del options
        kwargs = kwargs or {}
        n = self._local_replicas
        if n == 1:
            args, kwargs = self.of_replica((args, kwargs), 0)
            with context.within(self, ReplicaContext(self, 0, None)):
                return user_code(fn)(*args, **kwargs)
        turns = InTurn(self, n, _grouped)

        def replica(i: int):
            own_args, own_kwargs = self.of_replica((args, kwargs), i)
            with context.within(self, ReplicaContext(self, i, turns)), device(f"/device:CPU:{i}"):
                return user_code(fn)(*own_args, **own_kwargs)

        return _grouped(turns.run(replica))

    def reduce(self, reduce_op, value, axis: int | None = None):
        """A structure of tensors, reduced over all replicas, and along an axis of each."""
        op = _reduction(reduce_op)
        if axis is None:
            return self._reduce_all(op, value)
        sums = self._reduce_all("sum", _each(lambda v: reduce_sum(v, axis), value))
        if op == "sum":
            return sums
        counts = self._reduce_all(
            "sum", _each(lambda v: call("GatherV2", call("Shape", v), axis, 0), value)
        )
        return nest.map_structure(
            lambda total, count: total / call("Cast", count, DstT=total.dtype), sums, counts
        )

    def gather(self, value, axis: int):
        """A structure of tensors, each joined along an axis with those of the other replicas."""

        def joined(leaf):
            parts = [convert_to_tensor(part) for part in self.experimental_local_results(leaf)]
            here = parts[0] if len(parts) == 1 else call_list("ConcatV2", parts, axis)
            if not self._spans_ranks or ranks.size() == 1:
                return here
            rows = collectives.all_gather(call("ExpandDims", here, 0))
            return call_list("ConcatV2", calls("Unpack", rows, num=ranks.size()), axis)

        return _map(joined, value)

    def experimental_local_results(self, value) -> tuple:
        """The values of this process's replicas."""
        return value.values if isinstance(value, PerReplica) else (value,)

    def experimental_distribute_dataset(self, dataset: Dataset, options=None) -> Dataset:
        """Of a dataset of batches for all replicas, the parts of this process's: each replica has
        as many rows of a batch as the others, or one more."""
        del options
        n, first, here = self.num_replicas_in_sync, self._first_replica(), self._local_replicas
        if n == 1:
            return dataset

        def part(*batch):
            parts = [
                nest.map_structure(lambda rows, i=i: _part(rows, first + i, n), batch)
                for i in range(here)
            ]
            grouped = parts[0] if here == 1 else _grouped(parts)
            return grouped if len(batch) > 1 else grouped[0]

        parted = dataset.map(part)
        parted._is_parted = self._spans_ranks
        return parted

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[..., Any], options=None
    ) -> Dataset:
        """The dataset that dataset_fn(InputContext) makes for this process, which has one
        replica."""
        del options
        if self._local_replicas > 1:
            raise NotImplementedError(
                "a dataset for several replicas of one process: experimental_distribute_dataset "
                "parts one among them"
            )
        pipelines = ranks.size() if self._spans_ranks else 1
        return dataset_fn(InputContext(pipelines, self._first_replica(), self.num_replicas_in_sync))

    def of_replica(self, value, replica: int) -> Any:
        """The part of a structure that is this replica's: PerReplica are its values there."""
        return _map(lambda v: v.values[replica] if isinstance(v, PerReplica) else v, value)

    def _first_replica(self) -> int:
        return ranks.rank() * self._local_replicas if self._spans_ranks else 0

    def _reduce_all(self, op: str, value):
        """A structure of tensors or PerReplica, each reduced over all replicas."""
        leaves: list[Tensor] = []

        def local(leaf):
            total, *others = [_dense(one) for one in self.experimental_local_results(leaf)]
            for other in others:
                total = call("AddV2", total, other)
            if op == "mean" and others:
                total = call("RealDiv", total, call("Cast", 1 + len(others), DstT=total.dtype))
            leaves.append(total)

        _map(local, value)
        if self._spans_ranks and ranks.size() > 1:
            leaves = all_reduce_all(leaves, op)
        reduced = iter(leaves)
        return _map(lambda _: next(reduced), value)


class OneDeviceStrategy(Strategy):
    """One replica, on a device of this process."""

    def __init__(self, device: str):
        _gyre.check_device(device)
        self._device = device

    def run(self, fn: Callable[..., Any], args=(), kwargs=None, options=None):
        """Calls fn, whose nodes ask for the device."""
        with device(self._device):
            return super().run(fn, args, kwargs, options)


class MirroredStrategy(Strategy):
    """A replica on each of several devices of this process.

    devices: their names ("/cpu:0", "/cpu:1"); by default all logical CPUs. Replicas see the same
    variables: what changes one belongs into merge_call, as optimizers' steps do by themselves.
    Gradients are summed. With several devices, `run` cannot be called in a body of a loop or branch
    of a graph.
    """

    def __init__(self, devices=None, cross_device_ops=None):
        del cross_device_ops
        if devices is not None and not devices:
            raise ValueError("MirroredStrategy needs a device at least")
        for name in devices or ():
            _gyre.check_device(name)
        self._local_replicas = len(devices) if devices else max(len(list_logical_devices("CPU")), 1)


class MultiWorkerMirroredStrategy(Strategy):
    """A replica on each rank of the launch, which gyre.cluster.init() has made this process one of;
    it is called, if it has not been yet.

    Variables that are made in its scope begin with what rank 0 has; gradients are summed over all
    replicas before an optimizer's step, in the order of the ranks, so that the variables stay the
    same, bit for bit.
    """

    def __init__(self, cluster_resolver=None, communication_options=None):
        del communication_options
        if cluster_resolver is not None:
            raise NotImplementedError(
                "cluster_resolver: launchers are found by themselves (gyre.cluster.detect), "
                "TF_CONFIG among them; gyre.cluster.init(rank=, size=, coordinator=) says it"
            )
        if ranks.size() == 1:
            ranks.init()

    @property
    def _spans_ranks(self) -> bool:
        return True


_alone = Strategy()


def get_strategy() -> Strategy:
    """The strategy whose scope or run this is in; one of one replica elsewhere."""
    return context.strategy() or _alone


def has_strategy() -> bool:
    """Whether this is in a strategy's scope or run."""
    return context.strategy() is not None


def get_replica_context() -> ReplicaContext | None:
    """The replica that runs here: None between replicas (in a scope, in merge_call's function), and
    the only one where there is no strategy."""
    if context.replica() is not None or context.strategy() is not None:
        return context.replica()
    return ReplicaContext(_alone, 0, None)


def in_cross_replica_context() -> bool:
    """Whether this is between replicas."""
    return context.strategy() is not None and context.replica() is None


def _from_rank_0(make: Callable[..., Any], **kwargs):
    """Makes a variable of what rank 0 would make it of."""
    initial = kwargs.get("initial_value")
    if initial is None:
        return make(**kwargs)

    def of_rank_0():
        value = initial() if callable(initial) else initial
        return collectives.broadcast(convert_to_tensor(value, kwargs.get("dtype")), 0)

    kwargs["initial_value"] = of_rank_0
    return make(**kwargs)


def _grouped(values: list) -> Any:
    """Structures, one of each replica, as one of PerReplica."""
    first = values[0]
    if isinstance(first, dict):
        return {key: _grouped([value[key] for value in values]) for key in first}
    if isinstance(first, (list, tuple)):
        items = [_grouped(list(each)) for each in zip(*values, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    return PerReplica(values)


def _map(f: Callable[[Any], Any], value) -> Any:
    """A structure with f of each leaf; PerReplica are leaves."""
    if isinstance(value, PerReplica):
        return f(value)
    if isinstance(value, dict):
        return {key: _map(f, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_map(f, one) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return f(value)


def _each(f: Callable[[Tensor], Tensor], value):
    """A structure of tensors and PerReplica, with f of each tensor."""

    def of_leaf(leaf):
        if isinstance(leaf, PerReplica):
            return PerReplica(f(convert_to_tensor(one)) for one in leaf.values)
        return f(convert_to_tensor(leaf))

    return _map(of_leaf, value)


def _dense(gradient) -> Tensor:
    return convert_to_tensor(gradient)


def _part(rows, part: int, parts: int):
    """Those rows that are the part's."""
    size = call("GatherV2", call("Shape", rows), 0, 0)
    return rows[part * size // parts : (part + 1) * size // parts]
