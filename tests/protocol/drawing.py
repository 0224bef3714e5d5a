"""Random scenarios, each determined by its seed."""

from __future__ import annotations

import random
from functools import cache

from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from tests.protocol.scenarios import Fault, Nap, Scenario, is_connected, star_allreduce
from tests.protocol.world import World

LAYOUTS = [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3)]


@cache
def healthy_events(nodes: int, rails: int, counts: tuple[int, ...]) -> int:
    """Events of a run without failures: a measure of how long it lasts."""
    return events_of(Scenario(nodes, rails, counts))


def events_of(scenario: Scenario) -> int:
    """Events of a run with seed 0."""
    world = World(scenario, seed=0)
    world.run()
    return world.events


def random_scenario(seed: int) -> Scenario:
    """Draw a scenario in which live rails connect all nodes, so that every collective must complete."""
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
        pauses={(draw.choice(nics), draw.randint(1, len(counts))): 8.0} if draw.random() < 0.05 else {},
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
    number = draw.choice([0, 0, 0, 0, 0, 0, 1, 1, 2])
    return tuple(
        Nap(draw.choice(nics), draw.uniform(0, 0.3), draw.choice([0.2, 0.7, 1.0, 5.0])) for _ in range(number)
    )


def cutting_scenario(seed: int) -> Scenario:
    """Draw a scenario in which failures separate the nodes: collectives that are under way cannot complete.

    Either one node loses all its NICs, or two groups of nodes are left with different rails.
    """
    draw = random.Random(seed)
    nodes, rails = draw.choice(LAYOUTS)
    counts = (nodes * rails * 6, 9, nodes * rails * 4)
    last_event = int(healthy_events(nodes, rails, counts) * 0.5)
    if draw.random() < 0.5:
        victim = draw.randrange(nodes)
        doomed = [Nic(victim, rail) for rail in range(rails)]
    else:
        group = draw.sample(range(nodes), draw.randrange(1, nodes))
        kept = draw.sample(range(rails), draw.randrange(1, rails))
        doomed = [nic for nic in Scenario(nodes, rails, ()).nics if (nic.node in group) != (nic.rail in kept)]
    faults = tuple(
        Fault(nic, draw.randrange(last_event), draw.random() < 0.5, draw.random() < 0.5) for nic in doomed
    )
    return Scenario(nodes, rails, counts, faults, schedule=draw.choice([ring_allreduce, star_allreduce]))
