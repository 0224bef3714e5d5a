"""Scenarios with a purpose, in contrast to random ones. A seed varies what the purpose leaves open."""

from __future__ import annotations

import random

from algorithms.nic import Nic
from tests.protocol.drawing import LAYOUTS, healthy_events
from tests.protocol.scenarios import Fault, Nap, Scenario


def _layout(seed: int) -> tuple[int, int]:
    return LAYOUTS[seed % len(LAYOUTS)]


def _some_nic(draw: random.Random, nodes: int, rails: int) -> Nic:
    return Nic(draw.randrange(nodes), draw.randrange(rails))


def slowed(seed: int) -> Scenario:
    """A NIC delays its messages 30-fold; a process that stops makes everybody examine its NIC."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    slow = _some_nic(draw, nodes, rails)
    return Scenario(nodes, rails, (7, 3), slow={slow: 30.0}, naps=(_nap_elsewhere(nodes, rails, slow),))


def late_echoes(seed: int) -> Scenario:
    """Echoes over one NIC come too late: only its receive counter shows that it is alive."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    far = _some_nic(draw, nodes, rails)
    return Scenario(nodes, rails, (7, 3), lag_s={far: 0.2}, naps=(_nap_elsewhere(nodes, rails, far),))


def _nap_elsewhere(nodes: int, rails: int, nic: Nic) -> Nap:
    return Nap(Nic((nic.node + 1) % nodes, (nic.rail + 1) % rails), 0.05, 2.0)


def asleep(seed: int) -> Scenario:
    """A process stops for 5 s, less than the isolation timeout, inside a collective or between two."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    begin_s = draw.choice([0.0, 0.001, 0.002, 0.004, 0.006, 0.1, 0.3, 0.31, 0.32])
    return Scenario(
        nodes, rails, (nodes * rails * 3, 5), naps=(Nap(_some_nic(draw, nodes, rails), begin_s, 5.0),)
    )


def computing(seed: int) -> Scenario:
    """A rank computes for 8 s, longer than the isolation timeout, before a call; its engine serves on."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    return Scenario(
        nodes, rails, (9, 5), pauses={(_some_nic(draw, nodes, rails), draw.choice([1, 2, 3])): 8.0}
    )


def suspended(seed: int) -> Scenario:
    """The whole machine stops for 8 s, longer than the isolation timeout."""
    nodes, rails = _layout(seed)
    begin_s = random.Random(seed).uniform(0.0, 0.02)
    everybody = Scenario(nodes, rails, ()).nics
    return Scenario(
        nodes, rails, (nodes * rails * 3, 5), naps=tuple(Nap(nic, begin_s, 8.0) for nic in everybody)
    )


def flapping(seed: int) -> Scenario:
    """A NIC dies and comes back again and again; a rank that computes gives it the time."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    nic = _some_nic(draw, nodes, rails)
    at_event = draw.randrange(healthy_events(nodes, rails, (9, 5)) // 2)
    fault = Fault(nic, at_event, draw.random() < 0.5, draw.random() < 0.5, revive_after_s=1.2, flaps=2)
    pauses = {(_some_nic(draw, nodes, rails), 2): 5.0}
    return Scenario(nodes, rails, (9, 5), (fault,), pauses=pauses)


def one_node_in_a_row(seed: int) -> Scenario:
    """One node loses all rails but one, one after the other, at any moments."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    node, survivor = draw.randrange(nodes), draw.randrange(rails)
    counts = (nodes * rails * 4, 5)
    events = healthy_events(nodes, rails, counts)
    faults = tuple(
        Fault(Nic(node, rail), draw.randrange(events), draw.random() < 0.5, draw.random() < 0.5)
        for rail in range(rails)
        if rail != survivor
    )
    return Scenario(nodes, rails, counts, faults)


def no_common_rail(seed: int) -> Scenario:
    """Two of three nodes lose different rails of two, so that only the third connects them."""
    draw = random.Random(seed)
    first, second = draw.sample(range(3), 2)
    events = healthy_events(3, 2, (40, 12))
    faults = tuple(
        Fault(Nic(node, rail), draw.randrange(events // 2), draw.random() < 0.5, draw.random() < 0.5)
        for node, rail in ((first, 0), (second, 1))
    )
    return Scenario(3, 2, (40, 12), faults)


def cut_off_for_a_while(seed: int) -> Scenario:
    """One node, which closes last, loses all its NICs, and they come back before anybody gives up."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    counts = (nodes * rails * 4, 5)
    events = healthy_events(nodes, rails, counts)
    node, at_event = (
        draw.randrange(nodes),
        draw.randrange(draw.choice([0, events]), events + 6 * nodes * rails),
    )
    faults = tuple(
        Fault(
            Nic(node, rail),
            at_event + draw.choice([0, 0, 5]),
            announced=draw.random() < 0.5,
            late=draw.random() < 0.5,
            revive_after_s=draw.choice([0.5, 2.0, 4.0]),
        )
        for rail in range(rails)
    )
    return Scenario(nodes, rails, counts, faults, pauses={(Nic(node, 0), len(counts) + 1): 0.5})


EVERYBODY_EXAMINES = (Nap(Nic(1, 0), 0.002, 0.9),)
"""With three nodes and two rails the examinations begin at about event 100 and last until about event 600."""


def dies_in_the_middle(seed: int) -> Scenario:
    """A NIC dies while all NICs are examined, after it has echoed and before the verdicts."""
    fault = Fault(Nic(0, 1), random.Random(seed).randrange(165, 220), announced=False, late=False)
    return Scenario(3, 2, (7,), (fault,), naps=EVERYBODY_EXAMINES)


def back_in_the_middle(seed: int) -> Scenario:
    """A NIC dies and comes back while all NICs are examined, and one of its peers is much slower."""
    draw = random.Random(seed)
    at_event = draw.randrange(*draw.choice([(100, 160), (350, 560)]))
    fault = Fault(Nic(0, 1), at_event, announced=False, late=False, revive_after_s=0.3)
    return Scenario(3, 2, (7,), (fault,), slow={Nic(2, 1): 30.0}, naps=EVERYBODY_EXAMINES)


def narrow(seed: int) -> Scenario:
    """A NIC's death is announced; the mailboxes between the ranks of a node hold one chunk only."""
    draw = random.Random(seed)
    nodes, rails = _layout(seed)
    counts = (nodes * rails * 6,)
    at_event = draw.randrange(healthy_events(nodes, rails, counts) // 2)
    fault = Fault(_some_nic(draw, nodes, rails), at_event, announced=True, late=False)
    return Scenario(nodes, rails, counts, (fault,), mailbox_slots=1)


SCENARIOS = (
    slowed,
    late_echoes,
    asleep,
    computing,
    suspended,
    flapping,
    one_node_in_a_row,
    no_common_rail,
    cut_off_for_a_while,
    dies_in_the_middle,
    back_in_the_middle,
    narrow,
)
