"""Small schedules whose times are worked out by hand, in the comments."""

from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.stripes import healthy_mapping
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked
from analysis.simulation.critical_path import Cause
from analysis.simulation.timeline import Interval, PortUse
from analysis.simulator import Gate, PortRule, Rules, simulate
from tests.analysis.schedules import schedule_of


def landings(nodes, grid, transfers, rates=None, rails=1, **rules):
    """Simulate, and list when each stripe lands, in D/B."""
    timeline = simulate(healthy_mapping(schedule_of(nodes, grid, transfers), rails), rates, Rules(**rules))
    return [timeline.clock.time(int(tick)) for tick in timeline.landed]


HALF, ONE = Fraction(1, 2), Fraction(1)

TWO_WAYS_OUT = [(2, 0, 0, 1, False), (0, 1, 0, 1, False), (0, 2, 1, 2, False)]
"""Node 0 gets half of the data from 2 and passes it on to 1; the other half goes from it to 2."""


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        # the port sends the last one while the second one waits for the first
        (PortRule.CHANNELS, [HALF, ONE, HALF]),
        (PortRule.READY, [HALF, ONE, HALF]),
        (PortRule.FAIR, [HALF, ONE, HALF]),
        # the port waits for the second one
        (PortRule.STRICT, [HALF, ONE, Fraction(3, 2)]),
    ],
)
def test_port_serves_the_lowest_index_that_may_go(port, expected):
    """Only in strict order does a port stand still for a stripe that has to wait."""
    assert landings(3, 2, TWO_WAYS_OUT, port=port) == expected


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (PortRule.CHANNELS, [HALF, ONE, Fraction(3, 2)]),
        (PortRule.READY, [HALF, ONE, HALF]),
    ],
)
def test_channel_keeps_its_order(port, expected):
    """Both stripes go from 0 to 1, so the one that may go waits behind the one that may not."""
    transfers = [(2, 0, 0, 1, False), (0, 1, 0, 1, False), (0, 1, 1, 2, False)]
    assert landings(3, 2, transfers, port=port) == expected


@pytest.mark.parametrize(
    ("port", "last"),
    [
        (PortRule.CHANNELS, Fraction(3, 4)),
        (PortRule.READY, HALF),
    ],
)
def test_channel_lands_in_its_order(port, last):
    """The second stripe waits at node 1 until 3/4, for what it overwrites; so does the third, behind it."""
    transfers = [(1, 2, 0, 3, False), (0, 1, 0, 1, False), (0, 1, 3, 4, False)]
    assert landings(3, 4, transfers, port=port) == [Fraction(3, 4), Fraction(3, 4), last]


def test_of_two_that_may_go_the_lower_index_goes():
    """Two stripes want the same receiving port at once: the lower index first, whatever the node numbers."""
    assert landings(3, 2, [(2, 0, 0, 1, False), (1, 0, 1, 2, False)]) == [HALF, ONE]


OVERWRITE = [(0, 1, 0, 2, False), (2, 0, 0, 1, False), (0, 2, 0, 1, False)]
"""Node 0 sends everything; the first half is overwritten from 2 and sent back there."""


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        # the wire is free from 0 to 1/2, the landing waits until node 0 has sent everything
        (Gate.LANDING, [ONE, ONE, Fraction(3, 2)]),
        (Gate.START, [ONE, Fraction(3, 2), Fraction(2)]),
    ],
)
def test_hazard_holds_back_the_landing(gate, expected):
    """Data that would overwrite what is still being sent is on the wire already, and waits in its slot."""
    assert landings(3, 2, OVERWRITE, gate=gate) == expected


def test_alpha_occupies_the_port():
    """Two messages of half the data through one port: 2 (alpha + 1/2)."""
    transfers = [(0, 1, 0, 1, False), (0, 1, 1, 2, False)]
    assert landings(2, 2, transfers, alpha=Fraction(1, 10)) == [Fraction(6, 10), Fraction(12, 10)]


def test_slower_end_sets_the_pace():
    """A NIC at a third of its rate takes three times as long, as sender and as receiver."""
    rates = RailRates.of(3, 1, slow={Nic(0, 0): Fraction(1, 3)})
    transfers = [(0, 1, 0, 1, False), (1, 0, 1, 2, False), (1, 2, 1, 2, False)]
    assert landings(3, 2, transfers, rates) == [Fraction(3, 2), Fraction(3, 2), Fraction(2)]


def test_shared_port_is_shared_fairly():
    """A quarter and three quarters go into one port: half the rate each until 1/2, then one alone."""
    transfers = [(1, 0, 0, 1, False), (2, 0, 1, 4, False)]
    assert landings(3, 4, transfers, port=PortRule.FAIR) == [HALF, ONE]


def test_alpha_of_a_shared_port_passes_before():
    """With shared ports alpha is waiting: the second stripe is alone on the port for it."""
    transfers = [(1, 0, 0, 1, False), (2, 0, 1, 2, False)]
    # both begin at 1/4 and share the port
    assert landings(3, 2, transfers, port=PortRule.FAIR, alpha=Fraction(1, 4)) == [Fraction(5, 4)] * 2


def test_memory_of_a_node_is_a_port():
    """A node that applies half of B: two landings of half the data take 1 each, one after the other."""
    transfers = [(1, 0, 0, 1, False), (2, 0, 1, 2, False)]
    assert landings(3, 2, transfers, node_rate=HALF) == [Fraction(3, 2), Fraction(5, 2)]


def test_detour_is_handed_over_at_both_ends():
    """Rail 0 of node 0 is dead: its stripe goes 1/2 hand-over, 1/2 + 1 wire, 1/2 hand-over, 1/2 landing."""
    rates = RailRates.of(2, 2, [Nic(0, 0)])
    stripes = hot_repair_mapping(schedule_of(2, 2, [(0, 1, 0, 2, False)]), 2, rates.dead())
    timeline = simulate(stripes, rates, Rules(node_rate=ONE))
    memory = timeline.ports.memory(0)
    assert timeline.intervals(memory) == [Interval(Fraction(0), HALF, 0)]
    # rail 1 is free for its own stripe, which is there first, from 0 to 1
    assert timeline.intervals(timeline.ports.sending(Nic(0, 1))) == [
        Interval(Fraction(0), ONE, 1),
        Interval(ONE, Fraction(2), 0),
    ]
    assert timeline.clock.time(int(timeline.landed[1])) == Fraction(3, 2)
    assert timeline.completion == Fraction(3)


def test_relay_needs_the_whole_stripe():
    """Over two hops a stripe takes twice its time, a stripe in four chunks 5/4 of it."""
    rates = RailRates.of(3, 2, [Nic(0, 1), Nic(1, 0)])
    stripes = hot_repair_mapping(schedule_of(3, 1, [(0, 1, 0, 1, False, [0])]), 2, rates.dead())
    assert [len(route) for route in stripes.routes] == [2]
    assert simulate(stripes, rates).completion == 4
    assert simulate(chunked(stripes, Fraction(1, 4)), rates).completion == Fraction(5, 2)


def test_bubbles_and_use_of_a_port():
    """Node 2 sends from 0 to 1/2, and what comes back to it from 3/2 to 2: busy 1, idle 1."""
    transfers = [(2, 0, 0, 1, False), (0, 1, 0, 1, False), (1, 2, 0, 1, False), (2, 1, 0, 1, False)]
    timeline = simulate(healthy_mapping(schedule_of(3, 2, transfers), 1))
    port = timeline.ports.sending(Nic(2, 0))
    assert timeline.intervals(port) == [
        Interval(Fraction(0), HALF, 0),
        Interval(Fraction(3, 2), Fraction(2), 3),
    ]
    assert timeline.bubbles(port) == [(HALF, Fraction(3, 2))]
    use = timeline.uses()[port]
    assert use == PortUse(first=Fraction(0), last=Fraction(2), busy=ONE)
    assert use.idle == 1
    assert timeline.stages() == {"rows": (Fraction(0), Fraction(2))}


def test_critical_path_names_its_causes():
    """The second stripe waits for its data, the third one, in the other channel of node 0, for the port."""
    transfers = [(2, 0, 0, 1, False), (0, 1, 0, 1, False), (0, 2, 0, 2, False)]
    timeline = simulate(healthy_mapping(schedule_of(3, 2, transfers), 1))
    found = [
        (timeline.tasks.describe(link.task).split(":")[0], link.cause) for link in timeline.critical_path()
    ]
    assert found == [
        ("task 0 of stripe 0 of transfer 0 (rows)", Cause.BEGIN),
        ("landing of stripe 0 of transfer 0 (rows)", Cause.ARRIVAL),
        ("task 0 of stripe 1 of transfer 1 (rows)", Cause.DATA),
        ("task 0 of stripe 2 of transfer 2 (rows)", Cause.PORT),
        ("landing of stripe 2 of transfer 2 (rows)", Cause.ARRIVAL),
    ]
