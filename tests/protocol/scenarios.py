"""What happens in a simulated run: layouts, faults, slow rails, sleeping processes. A seed determines each one."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from algorithms.collective import allreduce
from algorithms.hot_repair import connected_groups
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.schedule import Schedule, ScheduleBuilder

LAYOUTS = [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3)]


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
    """A process does not run for a while."""

    nic: Nic
    at_s: float
    length_s: float


@dataclass(frozen=True)
class Scenario:
    """What happens in one run.

    Attributes:
        nodes: Number of nodes.
        rails: Rails per node.
        counts: Elements of each collective call.
        faults: NICs that die.
        slow: By which factor a NIC delays its messages.
        naps: Processes that do not run for a while.
        mailbox_slots: Chunks that wait between two ranks of a node at most.
        schedule: Writes the allreduce for a number of nodes.
        patience_s: A run that is not over so long after the last disturbance hangs, seconds.
    """

    nodes: int
    rails: int
    counts: tuple[int, ...]
    faults: tuple[Fault, ...] = ()
    slow: dict[Nic, float] = field(default_factory=dict)
    naps: tuple[Nap, ...] = ()
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
        return not self.slow and not self.naps and all(fault.announced for fault in self.faults)


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


@cache
def healthy_events(nodes: int, rails: int, counts: tuple[int, ...]) -> int:
    """Events of a run without failures: a measure of how long it lasts."""
    from tests.protocol.world import World

    world = World(Scenario(nodes, rails, counts), seed=0)
    world.run()
    return world.events


def random_scenario(seed: int) -> Scenario:
    """Draw a scenario in which the live-rail graph stays connected, so that every collective must complete."""
    draw = random.Random(seed)
    nodes, rails = draw.choice(LAYOUTS)
    counts = draw.choice(
        [(nodes * rails * 4,), (nodes * rails * 3 + 1, 5), (1, 7, nodes * rails * 2), (1, 1, 1), (9, 1, 1, 9)]
    )
    nics = [Nic(node, rail) for node in range(nodes) for rail in range(rails)]
    draw.shuffle(nics)
    doomed: list[Nic] = []
    for nic in nics[: draw.choice([0, 1, 1, 2, 2, 3, nodes * (rails - 1)])]:
        if is_connected(nodes, rails, {*doomed, nic}):
            doomed.append(nic)
    last_event = int(healthy_events(nodes, rails, counts) * 1.05)
    faults = tuple(_random_fault(draw, nic, last_event) for nic in doomed)
    return Scenario(
        nodes,
        rails,
        counts,
        faults,
        slow={draw.choice(nics): draw.choice([3.0, 10.0, 30.0])} if draw.random() < 0.2 else {},
        naps=_random_naps(draw, nics),
        mailbox_slots=draw.choice([1, 2, 4, 8]),
        schedule=draw.choice([ring_allreduce, ring_allreduce, star_allreduce]),
    )


def _random_fault(draw: random.Random, nic: Nic, last_event: int) -> Fault:
    return Fault(
        nic,
        at_event=draw.randrange(last_event),
        announced=draw.random() < 0.5,
        late=draw.random() < 0.5,
        revive_after_s=draw.choice([None, None, 0.004, 0.05, 0.4, 2.0, 5.0]),
        flaps=draw.choice([0, 0, 0, 1, 3]),
    )


def _random_naps(draw: random.Random, nics: list[Nic]) -> tuple[Nap, ...]:
    number = draw.choice([0, 0, 0, 0, 1, 2])
    return tuple(
        Nap(draw.choice(nics), draw.uniform(0, 0.3), draw.choice([0.2, 1.0, 5.0])) for _ in range(number)
    )


def cutting_scenario(seed: int) -> Scenario:
    """Draw a scenario in which all NICs of one node die: collectives that are under way cannot complete."""
    draw = random.Random(seed)
    nodes, rails = draw.choice(LAYOUTS)
    counts = (nodes * rails * 6, 9, nodes * rails * 4)
    last_event = int(healthy_events(nodes, rails, counts) * 0.5)
    victim = draw.randrange(nodes)
    faults = tuple(
        Fault(Nic(victim, rail), draw.randrange(last_event), draw.random() < 0.5, draw.random() < 0.5)
        for rail in range(rails)
    )
    return Scenario(nodes, rails, counts, faults, schedule=draw.choice([ring_allreduce, star_allreduce]))
