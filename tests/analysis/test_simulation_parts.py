from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from algorithms import verify
from algorithms.balance import balance_mapping
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from algorithms.transfer import ScheduleError
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.simulation import clock
from analysis.simulation.chunks import chunked
from analysis.simulation.critical_path import Cause
from analysis.simulation.fluid import fair_rates
from analysis.simulation.order import order_of
from analysis.simulation.ports import Run
from analysis.simulation.rules import PortRule, Rules
from analysis.simulation.tasks import NONE, tasks_of
from analysis.simulator import simulate
from tests.analysis import invariants
from tests.analysis.invariants import TimelineError
from tests.analysis.schedules import random_case, schedule_of

RING = healthy_mapping(ring_allreduce(3), 2)


def tasks_and_order(stripes=RING, rates=None, **rules):
    """The parts of a simulation before it runs."""
    tasks = tasks_of(stripes, rates or RailRates.of(stripes.schedule.nodes, stripes.rails))
    return tasks, order_of(tasks, Rules(**rules))


def test_clock_has_whole_ticks():
    """Stripes of 1/6 D at B/2, alpha 1/7: durations of 1/3 + 1/7 are whole ticks, no finer than that."""
    tasks, _ = tasks_and_order()
    chosen = clock.choose(tasks, tasks.rates, Fraction(1, 7))
    assert chosen == clock.Clock(21, is_exact=True)
    durations = clock.measure(tasks, Fraction(1, 7), chosen)
    assert set(durations[tasks.is_hop].tolist()) == {10}
    assert set(durations[~tasks.is_hop].tolist()) == {0}


def test_clock_rounds_where_it_has_to():
    """An alpha with a huge denominator is rounded: the clock says so, the time is right to nine digits."""
    alpha = Fraction(10**30 + 57, 7 * 10**30)
    timeline = simulate(RING, rules=Rules(alpha))
    assert not timeline.clock.is_exact
    assert float(timeline.completion) == pytest.approx(float(4 * (Fraction(1, 3) + alpha)), rel=1e-9)


def test_chunks_carry_what_the_stripes_carry():
    """Cut stripes pass the oracle, carry the same loads, and only the last chunk of a stripe is smaller."""
    chunks = chunked(RING, Fraction(1, 15))
    verify.check_stripes(chunks)
    assert chunks.rail_loads() == RING.rail_loads()
    # a stripe of 1/6 is two chunks of 1/15 and one of 1/30
    lengths = (chunks.source_hi - chunks.source_lo).tolist()
    assert [Fraction(length, chunks.grid) for length in lengths[:3]] == [
        Fraction(1, 15),
        Fraction(1, 15),
        Fraction(1, 30),
    ]
    assert len(chunks) == 3 * len(RING)


def test_large_chunks_cut_nothing():
    """Chunks larger than the stripes leave them as they are."""
    chunks = chunked(RING, Fraction(2))
    assert len(chunks) == len(RING)
    assert chunks.rail_loads() == RING.rail_loads()


@pytest.mark.parametrize(
    ("chunk", "error"), [(Fraction(0), ModelError), (Fraction(1, 10**10), ScheduleError)]
)
def test_impossible_chunks_are_refused(chunk, error):
    """No chunk is empty, and none is finer than a grid can be."""
    with pytest.raises(error):
        chunked(RING, chunk)


def test_fair_rates_fill_the_fullest_port_first():
    """Three into one port get a third each; what else one of them could have had goes to its neighbour."""
    flows = {0: (0, 9), 1: (1, 9), 2: (2, 9), 3: (2, 8)}
    capacity = dict.fromkeys(range(10), Fraction(1))
    assert fair_rates(flows, capacity) == {
        0: Fraction(1, 3),
        1: Fraction(1, 3),
        2: Fraction(1, 3),
        3: Fraction(2, 3),
    }


def test_flow_through_one_port_counts_once():
    """A task that occupies a single port gets all of it."""
    assert fair_rates({5: (3, 3)}, {3: Fraction(1, 2)}) == {5: Fraction(1, 2)}


@pytest.mark.parametrize("port", list(PortRule))
def test_lists_of_an_order_turn_around(port):
    """Who waits for a task and what a task waits for are the same pairs, and the counts are theirs."""
    for seed in range(10):
        stripes, rates = random_case(seed)
        tasks, order = tasks_and_order(stripes, rates, port=port)
        everybody = range(len(tasks))
        released = [
            (one, int(who)) for one in everybody for who in order.released_by(np.array([one], np.int32))
        ]
        awaited, begins = order.awaited()
        waits = [(int(what), one) for one in everybody for what in awaited[begins[one] : begins[one + 1]]]
        assert sorted(released) == sorted(waits)
        assert order.reasons().tolist() == [sum(1 for _, who in released if who == one) for one in everybody]
        together = order.released_by(np.arange(len(tasks), dtype=np.int32))
        assert sorted(together.tolist()) == sorted(who for _, who in released)


def test_tasks_that_wait_for_each_other_are_named():
    """A planted circle is found at the end, and its first task named."""
    tasks, order = tasks_and_order()
    circle = np.full(len(tasks), NONE, np.int32)
    first, second = tasks.first[0], tasks.first[3]
    circle[first], circle[second] = second, first
    durations = clock.measure(tasks, Fraction(0), clock.choose(tasks, tasks.rates, Fraction(0)))
    run = Run(tasks, replace(order, followers=(*order.followers, circle)), durations)
    with pytest.raises(
        ScheduleError, match=r"^task 0 of stripe 0 of transfer 0 .*: waits for ever, and so do \d+"
    ):
        run.finish()


def test_critical_path_is_a_chain_without_gaps():
    """Each link ends when the next begins; the first begins at 0, the last lands at the very end."""
    for seed in range(20):
        stripes, rates = random_case(seed)
        for port in (PortRule.CHANNELS, PortRule.STRICT):
            timeline = simulate(stripes, rates, Rules(Fraction(1, 9), port))
            links = timeline.critical_path()
            start, end = timeline.task_start, timeline.task_end
            assert start[links[0].task] == 0
            assert timeline.clock.time(int(end[links[-1].task])) == timeline.completion
            for before, after in pairwise(links):
                assert end[before.task] == start[after.task]
                assert after.cause is not Cause.BEGIN


def test_critical_path_of_a_ring_is_its_steps():
    """2 (n-1) messages, each followed by its landing."""
    links = simulate(healthy_mapping(ring_allreduce(5), 1)).critical_path()
    assert [link.cause for link in links] == [Cause.BEGIN, Cause.ARRIVAL] + 7 * [Cause.DATA, Cause.ARRIVAL]


@pytest.mark.parametrize("port", list(PortRule))
def test_use_of_ports_adds_up(port):
    """Busy time and bubbles of every port are those of its list of intervals, shared ports or not."""
    for seed in range(10):
        stripes, rates = random_case(seed)
        timeline = simulate(stripes, rates, Rules(port=port, node_rate=Fraction(2)))
        for number, use in enumerate(timeline.uses()):
            intervals, bubbles = timeline.intervals(number), timeline.bubbles(number)
            assert use.first == min((one.begin for one in intervals), default=0)
            assert use.last == max((one.end for one in intervals), default=0)
            assert use.idle == sum(end - begin for begin, end in bubbles)
            if port is not PortRule.FAIR:
                assert use.busy == sum(one.end - one.begin for one in intervals)


def test_ports_have_names():
    """Ports are named by NIC and direction, memories by their node."""
    ports = tasks_of(RING, RailRates.of(3, 2)).ports
    assert ports.describe(ports.sending(Nic(1, 1))) == "node 1 rail 1 send"
    assert ports.describe(ports.receiving(Nic(2, 0))) == "node 2 rail 0 receive"
    assert ports.describe(ports.memory(2)) == "node 2 memory"
    assert ports.memory(2) == ports.count - 1


def test_stages_of_a_collective():
    """Stage 2 of R2CC-AllReduce begins when the rings end, and lasts to the end."""
    rates = RailRates.of(3, 3, [Nic(0, 2)])
    timeline = simulate(balance_mapping(r2cc_allreduce(3, 3, 0, [2], 4), rates.rates), rates)
    stages = timeline.stages()
    assert stages["own data in"][0] == Fraction(4, 3)
    assert max(last for _, last in stages.values()) == timeline.completion


def planted(column, row, value):
    """A timeline of a small schedule, with one number replaced."""
    transfers = [(2, 0, 0, 1, False), (0, 1, 0, 1, False), (0, 1, 1, 2, False)]
    timeline = simulate(healthy_mapping(schedule_of(3, 2, transfers), 1))
    changed = getattr(timeline, column).copy()
    changed[row] = value
    return replace(timeline, **{column: changed})


@pytest.mark.parametrize(
    ("check", "column", "row", "value"),
    [
        (invariants.check_ports, "end", 1, 3),  # two stripes in the port of node 0 at once
        (invariants.check_journeys, "one", 0, 2),  # leaves from node 1 instead of node 2
        (invariants.check_journeys, "other", 2, 5),  # arrives at node 2 instead of node 1
        (invariants.check_journeys, "landed", 2, 0),  # lands before it arrives
        (invariants.check_bytes, "atoms", 1, 3),  # carries more than the stripe
        (invariants.check_hazards, "start", 1, 0),  # passes on what it does not have yet
    ],
)
def test_invariants_see_planted_errors(check, column, row, value):
    """Each check of the timelines passes a right one and finds an error that is planted in it."""
    right = planted("start", 0, 0)
    check(right)
    with pytest.raises(TimelineError):
        check(planted(column, row, value))


def test_use_of_a_dead_nic_is_seen():
    """The check for dead NICs finds a stripe that passes after the death."""
    timeline = planted("start", 0, 0)
    invariants.check_dead(timeline, [(Nic(2, 0), Fraction(1))])
    with pytest.raises(TimelineError, match="uses the dead"):
        invariants.check_dead(timeline, [(Nic(2, 0), Fraction(1, 4))])
