"""Clusters: gyre's own names, and TensorFlow's."""

_C = "gyre._impl.cluster."

NAMES = {
    **{f"cluster.{name}": f"{_C}connection:{name}" for name in ("Cluster", "connect")},
    **{f"cluster.{name}": f"{_C}workers:{name}" for name in ("Workers", "start_workers")},
    **{
        f"cluster.{name}": f"{_C}ranks:{name}"
        for name in ("ClusterEnv", "detect", "init", "leave", "rank", "size")
    },
    "train.ClusterSpec": _C + "spec:ClusterSpec",
    "distribute.Server": _C + "server:Server",
    "compat.v1.train.Server": _C + "server:Server",
}
