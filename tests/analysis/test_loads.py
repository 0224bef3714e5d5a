from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from analysis import cost_model, loads
from analysis.errors import ModelError
from analysis.straggler import port_times
from tests.analysis import ports

LOST = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(7, 8)]


@pytest.mark.parametrize("n", range(1, 8))
def test_the_ring_has_the_loads_of_its_schedule(n):
    """2 (n-1)/n for every node in both directions, as the schedule counts; and on rails the same."""
    everywhere = set(loads.ring(n))
    assert everywhere == {load for both in ring_allreduce(n).loads() for load in both}
    per_nic = healthy_mapping(ring_allreduce(n), 3).rail_loads()
    assert everywhere == {3 * load for both in per_nic.values() for load in both}


def test_hot_repair_without_relays_changes_no_node():
    """It moves shares between a node's NICs, so every node's loads stay those of the ring."""
    mapping = hot_repair_mapping(ring_allreduce(4), 3, [Nic(1, 0), Nic(2, 2)]).rail_loads()
    for node in range(4):
        for direction in (0, 1):
            assert sum(mapping[Nic(node, rail)][direction] for rail in range(3)) == loads.ring(4).healthy


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 9), LOST)))
def test_r2cc_has_the_loads_of_its_messages(n, lost):
    """Counted from the messages of both rings and of stage 2, chain and helper form."""
    both_rings = [
        *ports.ring([Fraction(1)] * n, 1 - lost),
        *(
            message._replace(source=message.source + 1, target=message.target + 1)
            for message in ports.ring([Fraction(1)] * (n - 1), lost)
        ),
    ]
    expected = loads.r2cc_allreduce(n, lost)
    for stage_2 in (ports.chain(n, 1 - lost, lost, 3), ports.helper(n, 1 - lost, lost, 2, 2)):
        for node in range(n):
            messages = [*both_rings, *stage_2]
            sent = sum(message.length for message in messages if message.source == node)
            received = sum(message.length for message in messages if message.target == node)
            assert sent == received == (expected.healthy if node else expected.degraded)


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 9), LOST)))
def test_r2cc_sends_more_than_it_must(n, lost):
    """All nodes together: Y (n-2) more than the least possible 2 (n-1)."""
    for partial in (lost, lost / 2, Fraction(1)):
        together = loads.r2cc_allreduce(n, lost, partial).total(n)
        assert together == 2 * (n - 1) + partial * (n - 2)


@pytest.mark.parametrize(("n", "lost"), list(product(range(2, 9), LOST)))
def test_the_degraded_node_is_busy_all_the_time(n, lost):
    """At Y = X, finely pipelined, its load over its bandwidth is the whole time: nothing is left to gain."""
    load = loads.r2cc_allreduce(n, lost).degraded
    assert load / (1 - lost) == cost_model.r2cc_allreduce(n, lost)


@pytest.mark.parametrize(("p", "lost"), list(product(range(3, 12), [Fraction(0), *LOST])))
def test_optcc_sends_the_least_possible(p, lost):
    """Straggler 1 and healthy (2p-3)/(p-1); together 2 (p-1) in every form, and times follow from loads."""
    assert loads.optcc(p) == loads.Loads(Fraction(1), Fraction(2 * p - 3, p - 1))
    for form in ("simple", "mixture"):
        of_form = loads.optcc(p, lost, form)
        assert of_form.total(p) == 2 * (p - 1)
        assert port_times(p, lost, form) == (of_form.degraded / (1 - lost), of_form.healthy)
    assert loads.optcc(p, 0, "mixture") == loads.ring(p)


def test_figure_6_by_hand():
    """For n = 4, X = Y = 1/4: degraded 3/2 x 3/4 + 1/4 = 11/8, healthy 9/8 + 4/3 x 1/4 + 1/4 = 41/24."""
    assert loads.r2cc_allreduce(4, Fraction(1, 4)) == (Fraction(11, 8), Fraction(41, 24))


def test_the_papers_count_is_the_limit_of_many_nodes():
    """2 (1-Y) + Y is what 2 (n-1)/n (1-Y) + Y tends to: the difference is 2 (1-Y)/n."""
    for n, lost in product((4, 100, 10_000), LOST):
        exact = loads.r2cc_allreduce(n, lost).degraded
        assert loads.r2cc_allreduce_degraded_large_n(lost) - exact == 2 * (1 - lost) / n


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: loads.ring(0), r"n = 0: give a whole number, at least 1"),
        (lambda: loads.r2cc_allreduce(1, LOST[0]), r"n = 1: give a whole number, at least 2"),
        (lambda: loads.r2cc_allreduce(4, 1), r"lost = 1: a degraded node must keep some bandwidth"),
        (lambda: loads.r2cc_allreduce(4, LOST[0], 2), r"partial = 2 is no part of a whole"),
        (lambda: loads.r2cc_allreduce(4, 0, LOST[0]), r"partial = 1/8: nothing is lost"),
        (lambda: loads.r2cc_allreduce_degraded_large_n(-1), r"partial = -1 is no part of a whole"),
        (lambda: loads.optcc(2), r"p = 2: give a whole number, at least 3"),
        (lambda: loads.optcc(4, 0, "both"), r"no form of OptCC 'both'"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()
