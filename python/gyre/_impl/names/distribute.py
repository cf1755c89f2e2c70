"""Collectives, and strategies that distribute programs."""

_D = "gyre._impl.distribute."

_COLLECTIVES = (
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "reduce_scatter",
)
_STRATEGIES = (
    "InputContext",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReplicaContext",
    "Strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
)

NAMES = {
    **{f"distribute.{name}": f"{_D}collectives:{name}" for name in _COLLECTIVES},
    **{f"distribute.{name}": f"{_D}strategy:{name}" for name in _STRATEGIES},
    "distribute.Checkpoint": f"{_D}checkpoint:Checkpoint",
    "distribute.run": f"{_D}recovery:run",
    "distribute.DistributedValues": f"{_D}strategy:PerReplica",
    "distribute.experimental.MultiWorkerMirroredStrategy": (
        f"{_D}strategy:MultiWorkerMirroredStrategy"
    ),
}
