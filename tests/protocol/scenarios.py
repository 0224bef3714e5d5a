"""What happens in a simulated run: layout, collectives, faults, slow rails, processes that stop."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from algorithms.collective import allreduce
from algorithms.hot_repair import connected_groups
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.schedule import Schedule, ScheduleBuilder


@dataclass(frozen=True)
class Fault:
    """A NIC dies.

    Attributes:
        nic: Which one.
        at_event: It dies when the world has handled that many events.
        announced: Whether its owner is told at once. A silent death must be found out.
        late: Whether what was in flight is delivered when the NIC comes back, or lost.
        revive_after_s: When it comes back, or None.
        flaps: How often it dies again after it came back.
    """

    nic: Nic
    at_event: int
    announced: bool
    late: bool
    revive_after_s: float | None = None
    flaps: int = 0


class Nap(NamedTuple):
    """A process is stopped for a while: its engine does not run either."""

    nic: Nic
    at_s: float
    length_s: float


@dataclass(frozen=True, eq=False)
class Scenario:
    """What happens in one run.

    Attributes:
        nodes: Number of nodes.
        rails: Rails per node.
        counts: Elements of each collective call.
        faults: NICs that die.
        slow: By which factor a NIC delays its messages.
        lag_s: How much longer every message to or from a NIC takes, seconds.
        naps: Processes that are stopped for a while.
        pauses: How long a rank computes before a collective call, in seconds, by (rank, number of the call);
            its engine keeps serving.
        mailbox_slots: Chunks that wait between two ranks of a node at most.
        schedule: Writes the allreduce for a number of nodes.
        patience_s: A run that is not over so long after the last disturbance hangs, seconds.
    """

    nodes: int
    rails: int
    counts: tuple[int, ...]
    faults: tuple[Fault, ...] = ()
    slow: dict[Nic, float] = field(default_factory=dict)
    lag_s: dict[Nic, float] = field(default_factory=dict)
    naps: tuple[Nap, ...] = ()
    pauses: dict[tuple[Nic, int], float] = field(default_factory=dict)
    mailbox_slots: int = 4
    schedule: Callable[[int], Schedule] = ring_allreduce
    patience_s: float = 10.0

    @property
    def nics(self) -> list[Nic]:
        """All NICs, node by node."""
        return [Nic(node, rail) for node in range(self.nodes) for rail in range(self.rails)]

    @property
    def is_calm(self) -> bool:
        """Whether every death is announced and nothing else disturbs: then nobody should ever have to ask."""
        disturbed = self.slow or self.lag_s or self.naps or self.pauses
        connected = is_connected(self.nodes, self.rails, {fault.nic for fault in self.faults})
        return connected and not disturbed and all(fault.announced for fault in self.faults)


def star_allreduce(nodes: int) -> Schedule:
    """Let everyone send to node 0, which adds up and sends the result back: nothing like a ring."""
    builder = ScheduleBuilder(nodes, grid=1)
    for node in range(1, nodes):
        builder.step(stage="gather", source=node, target=0, lo=0, hi=1, reduce=True)
    for node in range(1, nodes):
        builder.step(stage="spread", source=0, target=node, lo=0, hi=1, reduce=False)
    return builder.build(allreduce(nodes, 1))


def is_connected(nodes: int, rails: int, dead: Collection[Nic]) -> bool:
    """Say whether the nodes are connected by rails that are live at both ends."""
    return len(connected_groups(nodes, rails, lambda nic: nic not in dead)) == 1
