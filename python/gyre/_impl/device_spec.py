"""DeviceSpec: the parts of a device's name."""

from __future__ import annotations

_PARTS = ("job", "replica", "task", "device_type", "device_index")


class DeviceSpec:
    """A device, of which not all need be said: "/job:worker/task:1/device:GPU:0".

    job, replica, task, device_type ("CPU", "GPU"), device_index: its parts, or None. Immutable;
    equal if all parts are. ValueError for parts that cannot be.
    """

    __slots__ = _PARTS

    job: str | None
    replica: int | None
    task: int | None
    device_type: str | None
    device_index: int | None

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        kind = None if device_type is None else str(device_type)
        values = (
            None if job is None else str(job),
            None if replica is None else int(replica),
            None if task is None else int(task),
            kind.upper() if kind in ("cpu", "gpu") else kind,
            None if device_index is None else int(device_index),
        )
        for name, value in zip(_PARTS, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError(f"a DeviceSpec does not change: use replace({name}=…)")

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """The spec that a name says. ValueError for what is no name."""
        found: dict = {}
        for part in (spec or "").split("/"):
            if not part:
                continue
            kind, _, rest = part.partition(":")
            if kind.lower() in ("cpu", "gpu"):
                kind, rest = "device", f"{kind.upper()}:{rest}"
            if kind == "device":
                name, _, index = rest.partition(":")
                found["device_type"] = name
                found["device_index"] = None if index in ("", "*") else int(index)
            elif kind in ("job", "replica", "task") and rest:
                found[kind] = None if rest == "*" else rest
            else:
                raise ValueError(
                    f"Unknown attribute '{part}' is encountered while parsing '{spec}'"
                )
        return cls(**found)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """The spec that a name says."""
        return type(self).from_string(spec)

    def to_string(self) -> str:
        """The name."""
        parts = [
            f"/{kind}:{getattr(self, kind)}"
            for kind in ("job", "replica", "task")
            if getattr(self, kind) is not None
        ]
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type}:{index}")
        return "".join(parts)

    def make_merged_spec(self, dev) -> DeviceSpec:
        """This one, but for the parts that another says."""
        return type(self)(
            *(getattr(self if getattr(dev, name) is None else dev, name) for name in _PARTS)
        )

    def replace(self, **kwargs) -> DeviceSpec:
        """This one with other values of some parts."""
        return type(self)(**{**{name: getattr(self, name) for name in _PARTS}, **kwargs})

    def __eq__(self, other) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"
