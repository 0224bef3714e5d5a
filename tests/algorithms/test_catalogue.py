from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms import verify
from algorithms.catalogue import ALGORITHMS, Case
from algorithms.nic import Nic
from algorithms.schedule import ScheduleError


def rates(nodes, rails, *dead):
    """Rates of NICs that carry 1, or 0 where dead."""
    return [[Fraction((node, rail) not in dead) for rail in range(rails)] for node in range(nodes)]


@pytest.mark.parametrize("name", set(ALGORITHMS) - {"ring"})
def test_every_algorithm_serves_a_node_without_a_rail(name):
    """All but the fail-stop baseline map a correct schedule around one dead NIC."""
    case = Case(rates(4, 3, (2, 1)), rings=[((0, 1, 3), Fraction(1))])
    assert case.dead() == [Nic(2, 1)]
    stripes = ALGORITHMS[name](case)
    verify.check(stripes.schedule)
    verify.check_stripes(stripes, case.dead())


def test_the_ring_is_written_over_dead_nics():
    """The baseline knows nothing of failures: right as a schedule, but a stripe is on a dead NIC."""
    case = Case(rates(4, 3, (2, 1)))
    stripes = ALGORITHMS["ring"](case)
    verify.check(stripes.schedule)
    with pytest.raises(ScheduleError, match="uses node 2 rail 1, which is dead"):
        verify.check_stripes(stripes, case.dead())


def test_options_reach_the_algorithm():
    """Order, pieces, partial share, form and sub-pieces all change the schedule they are for."""
    plain = Case(rates(4, 2, (1, 0)))
    order = (0, 2, 1, 3)
    for name in ("ring", "hot-repair", "balance"):
        schedule = ALGORITHMS[name](Case(plain.rates, order=order)).schedule
        assert [schedule[index].source for index in range(4)] == list(order)
    usual = len(ALGORITHMS["r2cc-allreduce"](plain).schedule)
    # Of a ring of 4, a ring of 3 and 4 pieces of 2 + 2 hops; then 5 pieces, no partial ring, and the helper.
    assert usual == 24 + 12 + 4 * 4
    for case, transfers in (
        (Case(plain.rates, pieces=5), 24 + 12 + 5 * 4),
        (Case(plain.rates, partial=Fraction(0)), 24),
        (Case(plain.rates, form="helper", sub_pieces=2), 24 + 12 + 4 * (1 + 2 * 3)),
        (Case(plain.rates, order=order), usual),
    ):
        assert len(ALGORITHMS["r2cc-allreduce"](case).schedule) == transfers


@pytest.mark.parametrize(
    ("dead", "complaint"),
    [((), "one node with dead rails, none has"), (((0, 1), (2, 0)), "dead rails, nodes 0, 2 have")],
)
def test_r2cc_allreduce_needs_one_degraded_node(dead, complaint):
    """Without a failure, and with two degraded nodes, it says what it needs."""
    with pytest.raises(ScheduleError, match=complaint):
        ALGORITHMS["r2cc-allreduce"](Case(rates(4, 2, *dead)))
