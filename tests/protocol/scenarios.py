"""Random scenarios, each determined by its seed."""

from __future__ import annotations

import random
from functools import cache

from algorithms.nic import Nic
from tests.protocol.world import Fault, Scenario, World

LAYOUTS = [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3)]


def is_connected(nodes: int, rails: int, dead: set[Nic]) -> bool:
    """Say whether the nodes are connected by rails that are live at both ends."""
    reached, todo = {0}, [0]
    while todo:
        node = todo.pop()
        for other in set(range(nodes)) - reached:
            if any(Nic(node, r) not in dead and Nic(other, r) not in dead for r in range(rails)):
                reached.add(other)
                todo.append(other)
    return len(reached) == nodes


@cache
def healthy_events(nodes: int, rails: int, counts: tuple[int, ...]) -> int:
    """Events of a run without failures: a measure of how long it lasts."""
    world = World(Scenario(nodes, rails, list(counts)), seed=0)
    world.run()
    return world.events


def random_scenario(seed: int, layout: tuple[int, int] | None = None) -> Scenario:
    """Draw a scenario in which the live-rail graph stays connected, so that every collective must
    complete.
    """
    draw = random.Random(seed)
    nodes, rails = layout or draw.choice(LAYOUTS)
    counts = draw.choice(
        [(nodes * rails * 4,), (nodes * rails * 3 + 1, 5), (0, 7, nodes * rails * 2), (1, 1)]
    )
    scenario = Scenario(nodes, rails, list(counts), mailbox_slots=draw.choice([1, 2, 4, 8]))
    events = healthy_events(nodes, rails, counts)
    doomed: set[Nic] = set()
    nics = [Nic(node, rail) for node in range(nodes) for rail in range(rails)]
    draw.shuffle(nics)
    for nic in nics[: draw.choice([0, 1, 1, 2, 2, 3, nodes * (rails - 1)])]:
        if not is_connected(nodes, rails, doomed | {nic}):
            continue
        doomed.add(nic)
        revive = draw.choice([None, None, 0.004, 0.05, 0.4, 2.0, 5.0])
        fault = Fault(
            nic, draw.randrange(int(events * 1.05)), draw.random() < 0.5, draw.random() < 0.5, revive
        )
        scenario.faults.append(fault)
    if draw.random() < 0.2:
        scenario.slow[draw.choice(nics)] = draw.choice([3.0, 10.0, 30.0])
    if draw.random() < 0.2:
        scenario.naps.append((draw.choice(nics), draw.uniform(0, 0.3), draw.choice([0.2, 1.0, 5.0])))
    return scenario


def cutting_scenario(seed: int) -> Scenario:
    """Draw a scenario in which all NICs of one node die, or two nodes are left without a common rail and
    without a relay.
    """
    draw = random.Random(seed)
    nodes, rails = draw.choice(LAYOUTS)
    scenario = Scenario(nodes, rails, [nodes * rails * 6, 9, nodes * rails * 4])
    events = healthy_events(nodes, rails, tuple(scenario.counts))
    victim = draw.randrange(nodes)
    for rail in range(rails):
        at_event = draw.randrange(int(events * 0.5))
        scenario.faults.append(Fault(Nic(victim, rail), at_event, draw.random() < 0.5, draw.random() < 0.5))
    return scenario
