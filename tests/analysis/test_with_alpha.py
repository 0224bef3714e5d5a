from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from algorithms.nic import Nic
from analysis import cost_model, rail_costs, straggler, two_stage, with_alpha
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.repaired_ring import repaired_ring
from tests.analysis import ports

LOST = [Fraction(1, 8), Fraction(1, 3), Fraction(1, 2)]
ALPHAS = [Fraction(1, 10), Fraction(1, 100), Fraction(1, 777)]
TENTH = Fraction(1, 10)


def drawn_dead(data, n, g, most):
    """Draw NICs that are dead, at most so many."""
    return data.draw(st.sets(st.builds(Nic, st.integers(0, n - 1), st.integers(0, g - 1)), max_size=most))


@given(st.integers(2, 5), st.integers(1, 4), st.data())
def test_without_alpha_rings_are_the_closed_forms(n, g, data):
    """At alpha = 0 ring, HotRepair and Balance take what their closed forms say, and refuse the same."""
    rates = RailRates.of(n, g, drawn_dead(data, n, g, 5))
    assert with_alpha.ring(n, 0) == cost_model.ring(n)
    assert with_alpha.hot_repair(rates, 0) == rail_costs.hot_repair(rates)
    assert with_alpha.balance(rates, 0) == rail_costs.balance(rates)


@pytest.mark.parametrize("form", two_stage.FORMS)
def test_without_alpha_r2cc_is_the_closed_form(form):
    """At alpha = 0, for K given and fine, S given and fine, and any Y."""
    parts = [None, 3] if form == "helper" else [None]
    for n, lost, pieces, part in product((2, 3, 6), LOST, (None, 1, 4), parts):
        for partial in (None, Fraction(0), lost / 2, Fraction(1)):
            expected = two_stage.r2cc_allreduce(n, lost, partial, pieces, form, part)
            assert with_alpha.r2cc_allreduce(n, lost, 0, partial, pieces, form, part) == expected


@pytest.mark.parametrize("form", straggler.FORMS)
def test_without_alpha_optcc_is_the_closed_form(form):
    """At alpha = 0, for K given and fine."""
    for p, lost, segments in product((3, 4, 9), [Fraction(0), *LOST], (None, 1, 8)):
        assert with_alpha.optcc(p, lost, 0, segments, form) == straggler.optcc(p, lost, segments, form)


@pytest.mark.parametrize(("n", "alpha"), list(product(range(1, 7), ALPHAS)))
def test_the_ring_takes_what_its_messages_take(n, alpha):
    """2 (n-1)/n + 2 (n-1) alpha, and with a degraded node the same on top of Balance's time."""
    assert with_alpha.ring(n, alpha) == ports.finish(ports.ring([Fraction(1)] * n, Fraction(1)), alpha)
    if n > 1:
        degraded = [Fraction(2, 3), *[Fraction(1)] * (n - 1)]
        rates = RailRates.of(n, 3, [Nic(0, 1)])
        assert with_alpha.balance(rates, alpha) == ports.finish(ports.ring(degraded, Fraction(1)), alpha)


@given(st.integers(2, 5), st.integers(1, 4), st.sampled_from(ALPHAS), st.data())
def test_hot_repair_takes_what_its_messages_take(n, g, alpha, data):
    """Exactly without relays. With relays it is a lower bound: filling a route of h hops comes on top.

    That is h-1 messages beside the 2 (n-1) s of a NIC with s shares, s >= 2, h <= n-1: less than a quarter.
    """
    rates = RailRates.of(n, g, drawn_dead(data, n, g, 4))
    time = with_alpha.hot_repair(rates, alpha)
    if time is None:
        reject()
    simulated = ports.finish(ports.repaired_ring(rates), alpha)
    if repaired_ring(n, g, rates.dead()).longest == 1:
        assert time == simulated
    else:
        assert time <= simulated <= time * Fraction(5, 4)


def test_hot_repair_by_hand():
    """A backup NIC has two messages a step; a NIC at 1/4 of its rate has one, which takes longer."""
    dead = RailRates.of(4, 4, [Nic(1, 0)])
    assert with_alpha.hot_repair(dead, TENTH) == 2 * Fraction(3, 2) + 2 * 3 * 2 * TENTH
    slow = RailRates.of(4, 4, [Nic(1, 0)], {Nic(3, 3): Fraction(1, 4)})
    assert with_alpha.hot_repair(slow, TENTH) == 4 * Fraction(3, 2) + 2 * 3 * TENTH


def test_a_long_route_costs_its_hops():
    """Four nodes in a line: node 3 reaches node 0 over three hops, and every NIC serves three shares.

    Rail r is live at nodes r and r+1 only, so all three shares of a hop are on one rail.
    """
    live = {(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)}
    dead = [Nic(i, r) for i in range(4) for r in range(3) if (i, r) not in live]
    shares = repaired_ring(4, 3, dead)
    most = max(shares.busier().values())
    assert (shares.longest, most) == (3, 3)
    expected = most * cost_model.ring(4) + 2 * 3 * 3 * TENTH
    assert with_alpha.hot_repair(RailRates.of(4, 3, dead), TENTH) == expected


@pytest.mark.parametrize(("n", "lost", "alpha"), list(product(range(2, 6), LOST, ALPHAS)))
def test_both_stages_take_what_their_messages_take(n, lost, alpha):
    """The chain's K+n-2, the helper's 1+n-2+KS and the rings' steps are what a simulation counts."""
    rings = max(
        ports.finish(ports.ring([1 - lost] * n, 1 - lost), alpha),
        ports.finish(ports.ring([lost] * (n - 1), lost), alpha),
    )
    for pieces in (1, 2, 5):
        chain = ports.finish(ports.chain(n, 1 - lost, lost, pieces), alpha)
        assert with_alpha.r2cc_allreduce(n, lost, alpha, lost, pieces) == rings + chain
        for parts in (1, 3):
            helper = ports.finish(ports.helper(n, 1 - lost, lost, pieces, parts), alpha)
            time = with_alpha.r2cc_allreduce(n, lost, alpha, lost, pieces, "helper", parts)
            assert time == rings + helper


def test_optcc_by_hand():
    """For p = 4, X = 1/2, K = 5 a body is max(2/5 + 3 alpha, 1/3 + 5 alpha); K+2 of them, or K + 1/2."""
    assert with_alpha.optcc(4, Fraction(1, 2), TENTH, 5) == 7 * max(
        Fraction(2, 5) + 3 * TENTH, Fraction(1, 3) + 5 * TENTH
    )
    hundredth = Fraction(1, 100)
    assert with_alpha.optcc(4, Fraction(1, 2), hundredth, 5, "overlay") == Fraction(11, 2) * (
        Fraction(2, 5) + 3 * hundredth
    )


def test_the_mixture_pays_for_its_ring():
    """For p = 4, X = 1/4 every port is busy for 8/5, and 2 x 3 messages of the ring come to its 5."""
    assert with_alpha.optcc(4, Fraction(1, 4), TENTH, 5, "mixture") == 7 * (Fraction(8, 5) / 5 + 11 * TENTH)
    # where four stages alone meet the bound there is no ring to pay for
    half = Fraction(1, 2)
    assert with_alpha.optcc(4, half, TENTH, 5, "mixture") == with_alpha.optcc(4, half, TENTH, 5)


def test_rings_without_data_send_nothing():
    """Y = 0 leaves Balance's messages only; Y = 1 leaves the partial ring's and stage 2's."""
    third = Fraction(1, 3)
    balanced = with_alpha.balance(RailRates.of(4, 3, [Nic(0, 0)]), TENTH)
    assert with_alpha.r2cc_allreduce(4, third, TENTH, 0, pieces=2) == balanced
    times = two_stage.stages(4, third, 1, pieces=2)
    everything = times.total + (2 * 2 + 2 + 2) * TENTH
    assert with_alpha.r2cc_allreduce(4, third, TENTH, 1, pieces=2) == everything


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: with_alpha.ring(4, -1), r"alpha = -1 is below zero; give 0 or more"),
        (lambda: with_alpha.ring(0, 0), r"n = 0: give a whole number, at least 1"),
        (lambda: with_alpha.hot_repair(RailRates.of(2, 2), -1), r"alpha = -1 is below zero"),
        (lambda: with_alpha.balance(RailRates.of(2, 2), -1), r"alpha = -1 is below zero"),
        (lambda: with_alpha.balance(RailRates.of(2, 2), 0, [0]), r"order \[0\] does not name"),
        (lambda: with_alpha.r2cc_allreduce(4, LOST[0], -1), r"alpha = -1 is below zero"),
        (lambda: with_alpha.r2cc_allreduce(4, LOST[0], 1, pieces=0), r"pieces = 0: give a whole number"),
        (lambda: with_alpha.optcc(4, LOST[0], -1), r"alpha = -1 is below zero"),
        (lambda: with_alpha.optcc(4, LOST[0], 1, form="both"), r"no form of OptCC 'both'"),
        (lambda: with_alpha.optcc(4, LOST[0], 1, 0), r"segments = 0: give a whole number"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()


def test_separated_nodes_have_no_time():
    """Where the live rails do not connect the nodes, the ring has none with or without alpha."""
    rates = RailRates.of(2, 2, [Nic(0, 0), Nic(1, 1)])
    assert with_alpha.hot_repair(rates, TENTH) is None
    assert with_alpha.balance(rates, TENTH) is None
