from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from algorithms.balance import balance_mapping
from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from algorithms.transfer import ScheduleError
from analysis import cost_model, rail_costs
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked
from analysis.simulation.failures import Change, simulate_failures, simulate_sequence
from analysis.simulation.repair import WINDOW
from analysis.simulator import Gate, PortRule, Rules, simulate
from tests.analysis.invariants import check_all, check_dead, check_hazards
from tests.analysis.schedules import random_case, random_changes, schedule_of

NODES = RAILS = 3
HEALTHY = cost_model.ring(NODES)
CHUNKS = 16
CHUNK = Fraction(1, NODES * RAILS * CHUNKS)
CHUNK_TIME = CHUNK * RAILS
RATES = RailRates.of(NODES, RAILS)
RULES = Rules()


def ring_in_chunks():
    """The healthy ring, each stripe in 16 chunks."""
    return chunked(healthy_mapping(ring_allreduce(NODES), RAILS), CHUNK)


def play(*changes, rules=RULES):
    """Simulate the ring while NICs change."""
    return simulate_failures(ring_in_chunks(), RATES, changes, rules)


def total(loads):
    """What all NICs sent."""
    return sum((sent for sent, _ in loads.values()), Fraction(0))


def test_without_changes_nothing_changes():
    """The same stripes land at the same times as without the machinery for failures."""
    stripes = ring_in_chunks()
    timeline, plain = simulate_failures(stripes, RATES, [], RULES), simulate(stripes)
    times = [[one.clock.time(int(tick)) for tick in one.landed] for one in (timeline, plain)]
    assert times[0] == times[1]
    assert timeline.rail_loads() == plain.rail_loads()


@pytest.mark.parametrize("tenths", range(11))
def test_death_doubles_the_rest(tenths):
    """After p of the time a NIC dies: p + 2 (1-p), since its backup carries two shares of what is left."""
    p = Fraction(tenths, 10)
    timeline = play(Change(p * HEALTHY, Nic(1, 1)))
    # the chunks on the wire come again, one in each direction of the NIC
    assert timeline.resent in ({0} if tenths in {0, 10} else {2 * CHUNK})
    assert p * HEALTHY + 2 * (1 - p) * HEALTHY <= timeline.completion
    assert timeline.completion <= p * HEALTHY + 2 * (1 - p) * HEALTHY + CHUNK_TIME
    check_all(timeline)
    check_hazards(timeline)
    check_dead(timeline, [(Nic(1, 1), p * HEALTHY)])


def test_death_at_the_very_start_is_hot_repair():
    """Nothing had begun to arrive: exactly the time of HotRepair planned for the dead NIC."""
    dead = RailRates.of(NODES, RAILS, [Nic(1, 1)])
    assert play(Change(Fraction(0), Nic(1, 1))).completion == rail_costs.hot_repair(dead)


@pytest.mark.parametrize(
    ("unnoticed", "lost"),
    [
        # the chunk on the wire
        (Fraction(0), 1),
        # that one, the next, and the last, which is cut short when the death is noticed at 7/8
        (Fraction(1, 2), 3),
    ],
)
def test_death_in_mid_transfer_by_hand(unnoticed, lost):
    """Two rails, four chunks of 1/4 each; rail 1 dies at 3/8, so its last three go by rail 0."""
    stripes = chunked(healthy_mapping(schedule_of(2, 1, [(0, 1, 0, 1, False)]), 2), Fraction(1, 8))
    change = Change(Fraction(3, 8), Nic(1, 1), unnoticed=unnoticed)
    timeline = simulate_failures(stripes, RailRates.of(2, 2), [change], RULES)
    landed = [timeline.clock.time(int(ticks)) for ticks in timeline.landed]
    quarters = [Fraction(quarter, 4) for quarter in (1, 2, 3, 4, 1, 5, 6, 7)]
    assert landed == quarters
    assert timeline.resent == Fraction(lost, 8)


def test_bytes_are_conserved():
    """What passed the NICs is what the stripes are, and what was lost, on detours of one hop."""
    timeline = play(
        Change(HEALTHY / 3, Nic(0, 2)),
        Change(HEALTHY / 2, Nic(2, 0), unnoticed=HEALTHY / 4),
        # between that death and its discovery
        Change(HEALTHY * 5 / 8, Nic(1, 1), Fraction(1, 2)),
    )
    assert total(timeline.rail_loads()) == total(timeline.stripes.rail_loads()) + timeline.resent
    # what was on the wire at the first death; a window in each of the three channels through the silent NIC,
    # of which one is there on a detour since then
    assert timeline.resent == (2 + 3 * WINDOW) * CHUNK


@pytest.mark.parametrize("meanwhile", [[], [Change(HEALTHY / 4 + 4 * CHUNK_TIME, Nic(0, 0), Fraction(1, 2))]])
def test_channel_sends_a_window_into_the_void(meanwhile):
    """A death that nobody notices for long costs each of its two channels a window, whatever else happens."""
    timeline = play(Change(HEALTHY / 4, Nic(1, 1), unnoticed=HEALTHY / 2), *meanwhile)
    channels = np.unique(timeline.one[timeline.is_lost])
    assert len(channels) == 2
    for sender in channels:
        assert np.count_nonzero(timeline.is_lost & (timeline.one == sender)) == WINDOW
    check_all(timeline)


def test_short_silence_costs_less_than_a_window():
    """Noticed within two chunk times, at most three chunks of each channel are lost."""
    timeline = play(Change(HEALTHY / 4, Nic(1, 1), unnoticed=2 * CHUNK_TIME))
    for sender in np.unique(timeline.one[timeline.is_lost]):
        assert 1 <= np.count_nonzero(timeline.is_lost & (timeline.one == sender)) <= 3


def test_silence_at_the_end_is_waited_for():
    """The last chunks vanish in silence: nothing goes on before somebody notices."""
    silence = HEALTHY
    timeline = play(Change(HEALTHY - CHUNK_TIME / 2, Nic(1, 1), unnoticed=silence))
    assert timeline.completion >= HEALTHY - CHUNK_TIME / 2 + silence
    assert timeline.completion <= HEALTHY + silence + 3 * CHUNK_TIME


@pytest.mark.parametrize("tenths", [0, 3, 5, 9])
def test_slow_nic_stretches_the_rest(tenths):
    """At half its rate after p of the time: p + 2 (1-p), exactly, also for the chunk on the wire."""
    p = Fraction(tenths, 10)
    timeline = play(Change(p * HEALTHY, Nic(1, 1), Fraction(1, 2)))
    assert timeline.completion == (2 - p) * HEALTHY
    assert timeline.resent == 0
    assert timeline.clock.is_exact


def test_slow_nic_that_recovers_goes_on_at_full_rate():
    """A fifth of the time at half the rate: a tenth of the time more, wherever it lies."""
    for tenths in (0, 3, 5):
        begin, end = Fraction(tenths, 10) * HEALTHY, Fraction(tenths + 2, 10) * HEALTHY
        timeline = play(Change(begin, Nic(1, 1), Fraction(1, 2)), Change(end, Nic(1, 1), Fraction(1)))
        assert timeline.completion == Fraction(11, 10) * HEALTHY


def test_alpha_is_not_stretched():
    """Two messages, slowed to a half when the first one's alpha is half over: only its bytes take longer."""
    stripes = healthy_mapping(ring_allreduce(2), 1)
    alpha = Fraction(1, 2)
    timeline = simulate_failures(
        stripes, RailRates.of(2, 1), [Change(alpha / 2, Nic(0, 0), Fraction(1, 2))], Rules(alpha)
    )
    assert timeline.completion == 2 * (alpha + 2 * Fraction(1, 2))


def test_dead_nic_stays_out_of_the_running_collective():
    """It comes back soon, but only the next collective uses it: after HotRepair, the healthy ring again."""

    def plan(known):
        return chunked(hot_repair_mapping(ring_allreduce(NODES), RAILS, known.dead()), CHUNK)

    changes = [Change(HEALTHY / 2, Nic(1, 1)), Change(HEALTHY * 3 / 4, Nic(1, 1), Fraction(1))]
    first, second = simulate_sequence(plan, RATES, changes, 2, RULES)
    check_dead(first, [(Nic(1, 1), HEALTHY / 2)])
    assert first.completion > Fraction(7, 5) * HEALTHY
    assert second.completion == HEALTHY


def test_next_collective_is_planned_anew():
    """HotRepair in the one that is hit, then Balance at 3/2, then the healthy ring after the recovery."""

    def plan(known):
        return chunked(balance_mapping(ring_allreduce(NODES), known.rates), CHUNK)

    changes = [Change(HEALTHY * 3 / 2, Nic(1, 1)), Change(HEALTHY * 7 / 2, Nic(1, 1), Fraction(1))]
    timelines = simulate_sequence(plan, RATES, changes, 5, RULES)
    relative = [one.completion / HEALTHY for one in timelines]
    # it dies in the middle of the second, comes back in the third
    assert relative[0] == 1
    assert Fraction(3, 2) <= relative[1] <= Fraction(3, 2) + CHUNK_TIME
    assert relative[2:] == [Fraction(3, 2), 1, 1]


def test_death_noticed_in_the_next_collective_is_repaired_there():
    """A NIC that dies unnoticed at the end of a collective is planned with, and repaired, in the next one."""

    def plan(known):
        return chunked(balance_mapping(ring_allreduce(NODES), known.rates), CHUNK)

    changes = [Change(HEALTHY, Nic(1, 1), unnoticed=HEALTHY / 8)]
    first, second, third = simulate_sequence(plan, RATES, changes, 3, RULES)
    assert first.completion == HEALTHY
    assert second.resent > 0
    assert Fraction(19, 10) * HEALTHY < second.completion < Fraction(21, 10) * HEALTHY
    assert third.completion == Fraction(3, 2) * HEALTHY


def test_death_in_one_collective_noticed_in_the_next():
    """Rail 0 is slow, so the others are through when a NIC dies; only the next collective loses something."""
    slow = RailRates.of(NODES, RAILS, slow={Nic(0, 0): Fraction(1, 2)})
    changes = [Change(HEALTHY * 3 / 2, Nic(1, 1), unnoticed=HEALTHY * 3 / 4)]
    first, second = simulate_sequence(lambda _: ring_in_chunks(), slow, changes, 2, RULES)
    assert first.completion == 2 * HEALTHY
    assert first.resent == 0
    assert second.resent == 2 * WINDOW * CHUNK
    check_dead(second, [(Nic(1, 1), Fraction(0))])


def test_second_death_takes_the_next_backup():
    """The backup dies too: all three shares end up on the last rail of node 1, and the data gets through."""
    timeline = play(Change(HEALTHY / 4, Nic(1, 1)), Change(HEALTHY / 2, Nic(1, 2)))
    check_all(timeline)
    check_hazards(timeline)
    check_dead(timeline, [(Nic(1, 1), HEALTHY / 4), (Nic(1, 2), HEALTHY / 2)])


def test_cut_off_node_is_named():
    """When the last rail of a node dies the collective cannot go on, and the groups are named."""
    changes = [Change(HEALTHY / 4, Nic(1, rail)) for rail in range(RAILS)]
    with pytest.raises(ScheduleError, match=r"no route .*: the failures separate the nodes into 0, 2 \| 1"):
        play(*changes)


@pytest.mark.parametrize("port", [rule for rule in PortRule if rule is not PortRule.FAIR])
def test_random_failures_keep_the_rules_of_the_network(port):
    """Deaths, silent or not, slow-downs and recoveries on random schedules: every stripe arrives, once."""
    lost = 0
    for seed in range(30):
        stripes, rates = random_case(seed, may_be_dead=seed % 2 == 0)
        whole = simulate(stripes, rates, Rules(port=port)).completion
        changes = random_changes(seed, rates, whole)
        rules = Rules(whole * Fraction(seed % 3, 20), port, list(Gate)[seed % 2])
        timeline = simulate_failures(chunked(stripes, Fraction(1, 12)), rates, changes, rules)
        check_all(timeline)
        check_dead(timeline, [(change.nic, change.time) for change in changes if change.factor == 0])
        lost += int(timeline.is_lost.sum())
    assert lost > 10


@pytest.mark.slow
def test_many_random_failures_keep_the_rules_of_the_network():
    """The same for two thousand random schedules."""
    for seed in range(30, 2030):
        stripes, rates = random_case(seed, may_be_dead=seed % 2 == 0)
        whole = simulate(stripes, rates).completion
        changes = random_changes(seed, rates, whole)
        node_rate = None if seed % 5 else Fraction(3)
        rules = Rules(whole * Fraction(seed % 3, 20), node_rate=node_rate)
        timeline = simulate_failures(chunked(stripes, Fraction(1, 12)), rates, changes, rules)
        check_all(timeline)
        check_dead(timeline, [(change.nic, change.time) for change in changes if change.factor == 0])


@pytest.mark.parametrize(
    "change",
    [
        Change(Fraction(-1), Nic(0, 0)),
        Change(Fraction(1), Nic(3, 0)),
        Change(Fraction(1), Nic(0, 0), Fraction(2)),
        Change(Fraction(1), Nic(0, 0), Fraction(1, 2), unnoticed=Fraction(1)),
    ],
)
def test_impossible_change_is_refused(change):
    """Times below zero, NICs that do not exist, rates above a NIC's and unnoticed slow-downs are refused."""
    with pytest.raises(ModelError):
        play(change)


def test_shared_ports_are_refused():
    """With shared ports there is no moment at which a stripe is on the wire alone."""
    with pytest.raises(ModelError, match="one stripe at a time"):
        play(rules=Rules(port=PortRule.FAIR))
