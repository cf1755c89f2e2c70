"""Cluster: a connection to workers, which sessions run on."""

import functools
import os
import secrets

from gyre import _gyre
from gyre._impl.errors import UnauthenticatedError

TOKEN_VARIABLE = "GYRE_TOKEN"
_SCHEMES = ("gyre://", "grpc://")

# Tokens of workers that this process has started, by address.
_tokens: dict[str, str] = {}


class Cluster:
    """Workers that a session runs on, in place of this process: gyre.compat.v1.Session(cluster).

    Made by gyre.cluster.connect. Any number of sessions may share one; it lasts as long as they do.
    """

    def __init__(self, core: _gyre.Cluster, target: str):
        self._core = core
        self._target = target

    @property
    def core(self) -> _gyre.Cluster:
        """What the engine knows of it."""
        return self._core

    @property
    def target(self) -> str:
        """Where the workers are: "gyre://HOST:PORT,HOST:PORT"."""
        return self._target

    @property
    def devices(self) -> list[str]:
        """Their devices, as programs name them; the first is where nodes run that ask for none."""
        return self._core.devices

    def __repr__(self) -> str:
        return f"<Cluster {self._target}: {', '.join(self.devices)}>"


def connect(
    target,
    token: str | None = None,
    *,
    transport: str = "auto",
    shared_state: str = "",
    failure_timeout: float = 5.0,
    spin: float = 0.0,
) -> Cluster:
    """Calls workers, and makes them call each other.

    target: "gyre://HOST:PORT,HOST:PORT", or a list of "HOST:PORT". Worker I of the list has the
    devices of /job:worker/task:I; "/job:ps/task:0=HOST:PORT" says otherwise. Nodes that ask for no
    device run on the first one's first.
    token: that the workers were started with; by default that of workers which this process has
    started, or else what the environment has as GYRE_TOKEN.
    transport: how values travel between workers: "memory" (shared, within a machine), "tcp", or
    "auto".
    shared_state: variables and queues are those of all who give the same name, and last as long as
    the workers; "": each session has its own.
    failure_timeout: a worker that says nothing for so many seconds is gone.
    spin: for how many seconds a worker that waits polls before it sleeps.

    UnavailableError, naming the worker, for one that does not answer; UnauthenticatedError for
    another token; FailedPreconditionError for workers of another version of Gyre; ValueError and
    InvalidArgumentError for what is no target.
    """
    addresses = parse_target(target) if isinstance(target, str) else list(target)
    core = _gyre.Cluster(
        addresses,
        token=_token_for(addresses) if token is None else token,
        transport=transport,
        shared_state=shared_state,
        failure_timeout_ms=round(failure_timeout * 1e3),
        spin_us=round(spin * 1e6),
    )
    return Cluster(core, target_of(addresses))


def target_of(addresses: list[str]) -> str:
    """The target of workers at these addresses."""
    return _SCHEMES[0] + ",".join(addresses)


def parse_target(target: str) -> list[str]:
    """The addresses in a target. ValueError for what is none."""
    for scheme in _SCHEMES:
        if target.startswith(scheme):
            addresses = target.removeprefix(scheme).split(",")
            if all(addresses):
                return addresses
    raise ValueError(
        f"a target is '' (this process) or 'gyre://HOST:PORT,HOST:PORT', not {target!r}"
    )


def remember_token(address: str, token: str) -> None:
    """Notes the token of a worker that this process has started."""
    _tokens[address] = token


@functools.cache
def own_token() -> str:
    """The token of workers that this process has started without being told one: one for all, so
    that a session may run on several of them."""
    return secrets.token_hex(16)


def _token_for(addresses: list[str]) -> str:
    known = [_tokens.get(address.rpartition("=")[2]) for address in addresses]
    if known and known[0] is not None and known.count(known[0]) == len(known):
        return known[0]
    token = os.environ.get(TOKEN_VARIABLE)
    if not token:
        raise UnauthenticatedError(
            None,
            None,
            f"there is no token for the workers at {', '.join(addresses)}: set {TOKEN_VARIABLE} to "
            f"what they were started with, or connect with gyre.cluster.connect(target, token)",
        )
    return token
