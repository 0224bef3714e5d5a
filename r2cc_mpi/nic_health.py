"""What a user is told of a NIC."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.nic import Nic
from r2cc_mpi.protocol.engine import Detection


@dataclass(frozen=True)
class NicHealth:
    """What this rank knows of a NIC.

    Attributes:
        nic: Which one.
        is_up: Whether it works.
        since: When this rank learned it, seconds on :data:`r2cc_mpi.driver.clock`; None if it was never
            reported.
        cause: How this rank learned it: 'event', 'probe', 'news', 'echo', 'declared' or, of its own
            interface, 'netlink event: ' and what happened; empty if it was never reported.
    """

    nic: Nic
    is_up: bool
    since: float | None
    cause: str


def health_of(nic: Nic, latest: Detection | None) -> NicHealth:
    """Say what is known of a NIC after the latest change of its health, or without any."""
    if latest is None:
        return NicHealth(nic, is_up=True, since=None, cause="")
    return NicHealth(nic, latest.version % 2 == 0, latest.at, latest.cause)
