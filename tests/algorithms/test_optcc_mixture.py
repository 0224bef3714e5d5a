from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms import verify
from algorithms.optcc_mixture import mixture_share, optcc_mixture
from algorithms.optcc_overlay import optcc_overlay
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from analysis import straggler


def test_the_share_is_that_of_the_analysis():
    """Lambda here and in `analysis.straggler`, which the planner uses, are the same for all p and X tried."""
    for p in range(3, 20):
        for lost in (Fraction(n, 24) for n in range(24)):
            assert mixture_share(p, 1 / (1 - lost)) == straggler.mixture_share(p, lost)


def test_the_whole_range_of_shares():
    """0 is the overlay, 1 has the plain ring's loads, between loads are in proportion; all exactly once."""
    for tenths in range(11):
        share = Fraction(tenths, 10)
        loads = verify.check(optcc_mixture(4, 1, 5, by_ring=share)).loads
        assert loads[1] == ((1 - share) + share * Fraction(3, 2),) * 2
        assert loads[0] == ((1 - share) * Fraction(5, 3) + share * Fraction(3, 2),) * 2
    assert [str(one) for one in optcc_mixture(4, 1, 5, by_ring=Fraction(0))] == [
        str(one) for one in optcc_overlay(4, 1, 5)
    ]
    assert verify.check(optcc_mixture(4, 1, 5, by_ring=Fraction(1))).loads == ring_allreduce(4).loads()


def test_the_straggler_takes_every_place_in_the_ring():
    """In p-1 segments the straggler follows each healthy node once in the plain ring."""
    p = 5
    schedule = optcc_mixture(p, 2, p - 1, by_ring=Fraction(1))
    before = {
        (one.source_region[0] // p, one.source)
        for one in schedule
        if one.target == 2 and one.stage == "ring reduce-scatter"
    }
    assert {segment for segment, _ in before} == set(range(p - 1))
    assert {node for _, node in before} == {0, 1, 3, 4}
    assert len(before) == p - 1


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_out_of_range_is_refused(share):
    """Less than nothing or more than all by the ring."""
    with pytest.raises(ScheduleError, match="by ring: need at least one, and 0 to 1"):
        optcc_mixture(4, 0, by_ring=share)


def test_the_share_needs_to_be_known():
    """Without rails nobody knows how slow the straggler is."""
    with pytest.raises(ScheduleError, match="give rails, or by_ring"):
        optcc_mixture(4, 0)
