from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.nic import Nic
from analysis import cost_model, lower_bound, planner
from analysis.errors import ModelError
from analysis.rail_rates import RailRates

EVERYTHING = frozenset(
    {"ring", "hot-repair", "balance", "r2cc-allreduce", "recursive-r2cc", "optcc", "nested-optcc"}
)
NOTHING = Fraction(0)


def times(plan):
    """Time of every candidate, by its name."""
    return {one.name: one.time for one in plan.candidates}


def test_healthy_cluster_runs_the_ring():
    """With all rails up nothing beats the ring, which meets the bound: 2 (n-1)/n."""
    plan = planner.plan(RailRates.of(4, 8), alpha=NOTHING, built=EVERYTHING)
    assert plan.chosen.scheme == "ring"
    assert plan.chosen.time == plan.bound.time == Fraction(3, 2)
    assert plan.gap(plan.chosen) == 0


def test_example_of_three_nodes():
    """Three nodes, X = 1/3 (worked by hand): HotRepair 2, Balance 3/2, the bound 9/8 of the ring."""
    plan = planner.plan(RailRates.of(3, 3, dead=[Nic(1, 1)]), alpha=NOTHING, built=EVERYTHING)
    over_ring = {name: time / cost_model.ring(3) for name, time in times(plan).items() if time is not None}
    assert over_ring["hot-repair"] == 2
    assert over_ring["balance"] == Fraction(3, 2)
    assert plan.bound.time == Fraction(9, 8) * cost_model.ring(3)
    assert Fraction(11, 8) < over_ring["r2cc-allreduce (chain, Y = X)"] < Fraction(1377, 1000)
    assert plan.chosen.scheme == "optcc"


def test_pieces_follow_the_cost_of_a_message():
    """The dearer a message the fewer pieces and segments, and the longer everything takes."""
    rates = RailRates.of(4, 4, dead=[Nic(0, 0)])
    plans = [planner.plan(rates, alpha=Fraction(1, cheap)) for cheap in (10**7, 10**5, 10**3, 10)]
    for name in ("r2cc-allreduce (chain, Y = X)", "optcc (simple)"):
        pieces = [one.pieces or 0 for plan in plans for one in plan.candidates if one.name == name]
        assert pieces == sorted(pieces, reverse=True)
        assert pieces[0] > pieces[-1] >= 1
        spent = [times(plan)[name] for plan in plans]
        assert spent == sorted(spent)


def test_small_messages_are_balanced():
    """Where messages cost more than bytes a second stage does not pay: Balance has the fewest of them."""
    rates = RailRates.of(4, 8, dead=[Nic(0, 0)])
    assert planner.plan(rates, alpha=Fraction(1), built=EVERYTHING).chosen.scheme == "balance"
    free = planner.plan(rates, alpha=NOTHING, built=EVERYTHING)
    assert free.chosen.name == "optcc (mixture)"


@given(st.integers(3, 8), st.integers(2, 8), st.data())
@settings(max_examples=40, deadline=None)
def test_chain_beats_balance_from_its_threshold_on(n, g, data):
    """With K held, the chain beats Balance iff K > n (1-X) (derived here): no rule, it follows."""
    f = data.draw(st.integers(1, g - 1))
    pieces = data.draw(st.integers(1, 12))
    lost = Fraction(f, g)
    chain = cost_model.r2cc_allreduce(n, lost, pieces=pieces)
    assert (chain < cost_model.balance(n, lost)) == (pieces > n * (1 - lost))


def test_two_nodes_have_no_second_stage():
    """At n = 2 neither R2CC-AllReduce nor OptCC can gain; Balance meets the bound 1/(1-X)."""
    plan = planner.plan(RailRates.of(2, 4, dead=[Nic(0, 0)]), alpha=NOTHING, built=EVERYTHING)
    assert plan.chosen.scheme == "balance"
    assert plan.chosen.time == plan.bound.time == Fraction(4, 3)
    assert times(plan)["r2cc-allreduce"] is None
    assert times(plan)["optcc"] is None


def test_order_of_the_ring_is_planned():
    """4 x 4, A lost rail 0, B rail 1: Balance takes 3 as neighbours, 2 apart; T* is 12/7."""
    plan = planner.plan(RailRates.of(4, 4, dead=[Nic(0, 0), Nic(1, 1)]), alpha=NOTHING, built={"balance"})
    assert times(plan)["balance"] == 3
    assert (plan.chosen.name, plan.chosen.time) == ("balance (re-ranked)", Fraction(2))
    assert plan.chosen.order is not None
    assert plan.bound.time == Fraction(12, 7)


def test_nested_losses_have_two_more_schemes():
    """Two nodes that lost nested sets of rails: the forms for one degraded node cannot, two others can."""
    dead = [Nic(0, 0), Nic(1, 0), Nic(1, 1)]
    rates = RailRates.of(4, 4, dead=dead)
    plan = planner.plan(rates, alpha=NOTHING, built=EVERYTHING)
    listed = times(plan)
    assert listed["optcc"] is None
    assert listed["r2cc-allreduce"] is None
    bound = lower_bound.allreduce(rates.bandwidths())
    assert bound < listed["nested-optcc"] < bound * Fraction(1004, 1000)
    assert listed["recursive-r2cc"] > listed["nested-optcc"]


def test_losses_that_do_not_nest_are_said_to():
    """Two nodes that lost different rails: the forms for nested losses are listed without a time."""
    listed = times(planner.plan(RailRates.of(4, 4, dead=[Nic(0, 0), Nic(1, 1)]), alpha=NOTHING))
    assert listed["nested-optcc"] is None
    assert listed["recursive-r2cc"] is None


def test_choice_is_among_what_is_built():
    """Of schemes not built the prediction is shown, never chosen, and the reason names the better one."""
    rates = RailRates.of(3, 3, dead=[Nic(1, 1)])
    plan = planner.plan(rates, alpha=NOTHING, built={"ring", "hot-repair"})
    assert plan.chosen.scheme == "hot-repair"
    assert "optcc" in plan.reason
    assert plan.candidates[0].scheme == "optcc"


def test_slow_rail_leaves_the_ring_running():
    """A rail at half its rate: the ring takes twice as long, Balance spreads the load: 8/7 of the ring."""
    rates = RailRates.of(3, 4, slow={Nic(2, 1): Fraction(1, 2)})
    listed = times(planner.plan(rates, alpha=NOTHING, built=EVERYTHING))
    assert listed["ring"] == listed["hot-repair"] == 2 * cost_model.ring(3)
    assert listed["balance"] == Fraction(8, 7) * cost_model.ring(3)
    assert listed["r2cc-allreduce"] is None


def test_cut_off_cluster_has_no_plan():
    """Where live rails do not connect all nodes the groups are named."""
    with pytest.raises(ModelError, match=r"connect all nodes: 0 \| 1, 2"):
        planner.plan(RailRates.of(3, 2, dead=[Nic(0, 0), Nic(0, 1)]), alpha=NOTHING)


def test_impossible_wishes_are_refused():
    """A negative alpha, and a set of schemes none of which can serve, are refused with a line each."""
    with pytest.raises(ModelError, match="alpha -1"):
        planner.plan(RailRates.of(2, 2), alpha=Fraction(-1))
    with pytest.raises(ModelError, match="none of optcc"):
        planner.plan(RailRates.of(2, 2), alpha=NOTHING, built={"optcc"})


def test_single_node_has_nothing_to_do():
    """One node: no traffic, no time."""
    plan = planner.plan(RailRates.of(1, 2), alpha=Fraction(1))
    assert plan.chosen.time == 0


@given(st.integers(2, 5), st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_no_promise_is_below_the_bound(n, g, data):
    """Whatever is dead: no scheme's time on rails is below T*, candidates are sorted, equal calls agree."""
    nics = st.builds(Nic, st.integers(0, n - 1), st.integers(0, g - 1))
    rates = RailRates.of(n, g, dead=data.draw(st.frozensets(nics, max_size=4)))
    if len(rates.groups()) > 1:
        return
    plan = planner.plan(rates, alpha=NOTHING)
    assert plan == planner.plan(rates, alpha=NOTHING)
    found = [one.time for one in plan.candidates if one.time is not None]
    assert found == sorted(found)
    assert plan.bound.time is not None
    assert all(time >= plan.bound.time for time in found)
