from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from algorithms import verify
from algorithms.balance import balance_mapping
from algorithms.columns import Columns
from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from algorithms.transfer import ScheduleError
from analysis import cost_model, rail_costs, two_stage, with_alpha
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked
from analysis.simulator import Gate, PortRule, Rules, simulate
from tests.analysis.invariants import check_all, check_hazards
from tests.analysis.schedules import random_case
from tests.analysis.slow_simulator import SlowSimulation

ALL_RULES = list(PortRule)
EXCLUSIVE = [rule for rule in PortRule if rule is not PortRule.FAIR]
ALPHA = Fraction(1, 10)


def relative(stripes, rates=None, **rules):
    """Time over that of the healthy ring."""
    time = simulate(stripes, rates, Rules(**rules)).completion
    return time / cost_model.ring(stripes.schedule.nodes)


@pytest.mark.parametrize("port", ALL_RULES)
@pytest.mark.parametrize(("nodes", "rails"), [(2, 1), (3, 3), (5, 2), (8, 1)])
def test_ring_takes_what_its_closed_form_says(nodes, rails, port):
    """The healthy ring takes 2 (n-1) (1/n + alpha), with and without alpha, whatever the rule for ports."""
    stripes = healthy_mapping(ring_allreduce(nodes), rails)
    assert simulate(stripes, rules=Rules(port=port)).completion == cost_model.ring(nodes)
    timeline = simulate(stripes, rules=Rules(ALPHA, port))
    assert timeline.completion == with_alpha.ring(nodes, ALPHA)
    assert timeline.clock.is_exact


def test_large_ring_takes_what_its_closed_form_says():
    """130,560 transfers of a ring of 256 nodes take 2 (n-1)/n, to the last tick."""
    timeline = simulate(healthy_mapping(ring_allreduce(256), 1))
    assert timeline.completion == Fraction(255, 128)


@pytest.mark.parametrize("port", ALL_RULES)
@pytest.mark.parametrize(
    ("nodes", "rails", "dead"),
    [
        (2, 2, [(0, 1)]),
        (3, 3, [(1, 1)]),
        (4, 4, [(0, 0), (1, 0)]),
        (5, 3, [(1, 0), (3, 2)]),
        (8, 2, [(7, 1)]),
    ],
)
def test_hot_repair_takes_what_its_closed_form_says(nodes, rails, dead, port):
    """A NIC that serves s shares makes the ring s times as long, and the detours do not add a bubble."""
    rates = RailRates.of(nodes, rails, [Nic(*nic) for nic in dead])
    stripes = hot_repair_mapping(ring_allreduce(nodes), rails, rates.dead())
    assert simulate(stripes, rates, Rules(port=port)).completion == rail_costs.hot_repair(rates)


def test_hot_repair_through_a_relay_tends_to_its_closed_form():
    """Nodes 0 and 1 share no rail: a chunk at the relay is late by a third of its share, so chunks help."""
    rates = RailRates.of(3, 2, [Nic(0, 0), Nic(1, 1)])
    stripes = hot_repair_mapping(ring_allreduce(3), 2, rates.dead())
    closed = rail_costs.hot_repair(rates)
    assert closed == Fraction(8, 3)
    for chunks in (1, 2, 4, 8, 16):
        # derived here: stripes are a sixth of D, and one chunk of a stripe takes 1/3 D/B to pass a hop
        time = simulate(chunked(stripes, Fraction(1, 6 * chunks)), rates).completion
        assert time == closed + Fraction(1, 3 * chunks)


@pytest.mark.parametrize("port", EXCLUSIVE)
@pytest.mark.parametrize(
    ("nodes", "rails", "dead", "slow"),
    [
        (3, 3, [(1, 1)], {}),
        (4, 4, [(0, 0), (1, 1)], {}),
        (4, 8, [(2, 3), (2, 4)], {(0, 0): Fraction(1, 2)}),
        (2, 2, [], {(1, 1): Fraction(1, 3)}),
    ],
)
def test_balance_takes_what_its_closed_form_says(nodes, rails, dead, slow, port):
    """The narrowest hop sets the pace of the ring, with dead and with slow NICs; alpha adds 2 (n-1) alpha."""
    rates = RailRates.of(nodes, rails, [Nic(*nic) for nic in dead], {Nic(*n): f for n, f in slow.items()})
    stripes = balance_mapping(ring_allreduce(nodes), rates.rates)
    assert simulate(stripes, rates, Rules(port=port)).completion == rail_costs.balance(rates)
    assert simulate(stripes, rates, Rules(ALPHA, port)).completion == with_alpha.balance(rates, ALPHA)


@pytest.mark.parametrize(
    ("pieces", "chain", "helper"),
    [
        (1, 1.625, 1.75),
        (2, 1.5, 1.5625),
        (4, 1.4375, 1.46875),
        (8, 1.40625, 1.421875),
        (16, 1.390625, 1.3984375),
    ],
)
def test_r2cc_allreduce_gives_the_table_of_the_theory(pieces, chain, helper):
    """Theory for n = 3, X = Y = 1/3: 1.625, 1.5, ... by the chain; the helper is off by its tail, exactly."""
    rates = RailRates.of(3, 3, [Nic(0, 2)])

    def time(**form):
        return relative(balance_mapping(r2cc_allreduce(3, 3, 0, [2], pieces, **form), rates.rates), rates)

    assert time() == Fraction(chain)
    # S sub-pieces leave (n-2) Y / (K S) of the broadcast, in units of D/B
    tail = Fraction(1, 3) / (pieces * 8) / Fraction(4, 3)
    assert time(form="helper", sub_pieces=8) == Fraction(helper) + tail


@pytest.mark.parametrize("form", ["chain", "helper"])
@pytest.mark.parametrize("port", EXCLUSIVE)
@pytest.mark.parametrize(
    ("nodes", "rails", "lost", "partial"),
    [
        (3, 3, [0], None),
        (4, 4, [0, 1], Fraction(1, 4)),
        (5, 2, [1], Fraction(1, 3)),
        (6, 3, [2], Fraction(0)),
        (7, 8, [0, 3], None),
    ],
)
def test_r2cc_allreduce_takes_what_its_closed_form_says(nodes, rails, lost, partial, port, form):
    """max(T1, T2) + T3 holds exactly for several layouts, shares Y, numbers of pieces and both forms."""
    rates = RailRates.of(nodes, rails, [Nic(1, rail) for rail in lost])
    sub_pieces = 1 if form == "helper" else None
    for pieces in (1, 3, 4):
        schedule = r2cc_allreduce(nodes, rails, 1, lost, pieces, partial, form=form)
        timeline = simulate(balance_mapping(schedule, rates.rates), rates, Rules(port=port))
        lost_share = Fraction(len(lost), rails)
        assert timeline.completion == two_stage.r2cc_allreduce(
            nodes, lost_share, partial, pieces, form, sub_pieces
        )


def test_gating_the_start_costs_what_the_theory_says():
    """Theory for n = 3, X = 1/3, K = 4: 2.042 instead of 1.917 D/B if hazards gate the start of the wire."""
    rates = RailRates.of(3, 3, [Nic(0, 2)])
    stripes = balance_mapping(r2cc_allreduce(3, 3, 0, [2], 4), rates.rates)
    assert simulate(stripes, rates).completion == Fraction(23, 12)
    assert simulate(stripes, rates, Rules(gate=Gate.START)).completion == Fraction(49, 24)


def test_r2cc_allreduce_with_alpha_takes_what_the_model_says():
    """Stage 1 pays alpha for each step, stage 2 for its K + n-2 messages in sequence."""
    rates = RailRates.of(4, 4, [Nic(0, 3)])
    for pieces in (1, 2, 8):
        schedule = r2cc_allreduce(4, 4, 0, [3], pieces)
        alpha = Fraction(1, 1000)
        timeline = simulate(balance_mapping(schedule, rates.rates), rates, Rules(alpha))
        assert timeline.completion == with_alpha.r2cc_allreduce(4, Fraction(1, 4), alpha, pieces=pieces)


@pytest.mark.parametrize("gate", list(Gate))
@pytest.mark.parametrize("port", EXCLUSIVE)
def test_every_stripe_lands_when_the_literal_rules_say(port, gate):
    """On random schedules with dead, slow and relaying NICs every stripe lands at the same time in both."""
    for seed in range(12):
        stripes, rates = random_case(seed)
        alpha = Fraction(seed % 3, 7)
        timeline = simulate(stripes, rates, Rules(alpha, port, gate))
        slow = SlowSimulation(stripes, rates, alpha=alpha, port=port, gate=gate)
        assert [timeline.clock.time(int(tick)) for tick in timeline.landed] == [
            slow.landed[stripe] for stripe in range(len(stripes))
        ]


@pytest.mark.slow
@pytest.mark.parametrize("gate", list(Gate))
@pytest.mark.parametrize("port", EXCLUSIVE)
def test_every_stripe_lands_when_the_literal_rules_say_for_many(port, gate):
    """The same for a thousand random schedules."""
    for seed in range(12, 1012):
        stripes, rates = random_case(seed)
        alpha = Fraction(seed % 3, 7)
        timeline = simulate(stripes, rates, Rules(alpha, port, gate))
        slow = SlowSimulation(stripes, rates, alpha=alpha, port=port, gate=gate)
        assert timeline.completion == slow.completion
        assert all(timeline.clock.time(int(timeline.landed[one])) == slow.landed[one] for one in slow.landed)


@pytest.mark.parametrize("port", ALL_RULES)
def test_random_timelines_keep_the_rules_of_the_network(port):
    """Ports serve one stripe at a time, hops lead from source to target, hazards keep their order."""
    for seed in range(40):
        stripes, rates = random_case(seed)
        timeline = simulate(stripes, rates, Rules(port=port))
        if port is not PortRule.FAIR:
            check_all(timeline)
        if all(len(route) == 1 for route in stripes.routes):
            check_hazards(timeline)
        assert timeline.rail_loads() == stripes.rail_loads()
        assert timeline.resent == 0


def test_simulated_schedules_are_right():
    """What the closed forms are compared with achieves its collective and carries every byte."""
    rates = RailRates.of(3, 3, [Nic(0, 2)])
    schedule = r2cc_allreduce(3, 3, 0, [2], 4)
    verify.check(schedule)
    verify.check_stripes(balance_mapping(schedule, rates.rates), rates.dead())


def test_dead_nic_is_named():
    """Stripes that go through a dead NIC are refused, naming the first of them."""
    with pytest.raises(ScheduleError, match=r"transfer 1 .*: goes through a NIC that is dead"):
        simulate(healthy_mapping(ring_allreduce(3), 2), RailRates.of(3, 2, [Nic(2, 1)]))


def test_transfer_that_is_not_carried_is_named():
    """Stripes that leave something of a transfer behind are refused, naming it."""
    stripes = healthy_mapping(ring_allreduce(3), 2)
    keep = np.arange(len(stripes)) != 5
    columns = ("transfer", "source_lo", "source_hi", "target_lo", "target_hi", "home", "route")
    partly = replace(stripes, **{name: getattr(stripes, name)[keep] for name in columns})
    with pytest.raises(ScheduleError, match=r"transfer 2 .*: its stripes carry 1 of 2 atoms"):
        simulate(partly)


def test_other_cluster_is_refused():
    """Stripes for another number of rails or nodes are refused."""
    with pytest.raises(ScheduleError, match="stripes for 3 nodes with 2 rails cannot run"):
        simulate(healthy_mapping(ring_allreduce(3), 2), RailRates.of(3, 3))


@pytest.mark.parametrize("wrong", [{"alpha": Fraction(-1)}, {"node_rate": Fraction(0)}])
def test_impossible_rules_are_refused(wrong):
    """A negative alpha and a node that handles nothing are refused."""
    with pytest.raises(ModelError):
        Rules(**wrong)


def test_nothing_to_do_takes_no_time():
    """A ring of one node has no transfers, and ends when it begins."""
    timeline = simulate(healthy_mapping(ring_allreduce(1), 2))
    assert timeline.completion == 0
    assert timeline.critical_path() == []
    assert isinstance(timeline.stripes.schedule.columns, Columns)
