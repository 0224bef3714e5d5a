"""The table of schemes over p and X (`tests/analysis/test_straggler.py`) once more, from played schedules."""

from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.catalogue import ALGORITHMS, Case
from analysis import cost_model
from analysis.simulated import bundled
from analysis.simulator import simulate

HALF_A_DIGIT = Fraction(5, 10_000)


def played(algorithm, p, lost, **choices):
    """Simulate a schedule around node 0, which lost a part; over the ring that nothing happened to."""
    rates = bundled(p, lost)
    return simulate(ALGORITHMS[algorithm](Case(rates.rates, **choices)), rates).completion / cost_model.ring(
        p
    )


@pytest.mark.parametrize(
    ("p", "lost", "segments", "printed"),
    [
        (4, "1/8", 8, ["1.143", "1.095", "1.111", "1.032"]),
        (4, "1/2", 8, ["2", "1.667", "1.333", "1.333"]),
        (8, "1/8", 8, ["1.143", "1.082", "1.061", "1.016"]),
        (8, "1/2", 8, ["2", "1.571", "1.143", "1.143"]),
        (16, "1/4", 8, ["1.333", "1.178", "1.031", "1.016"]),
        (64, "1/2", 4, ["2", "1.508", "1.016", "1.016"]),
    ],
)
def test_the_table_over_p_and_x_is_what_schedules_take(p, lost, segments, printed):
    """Balance and R2CC-AllReduce to the last digit; OptCC with K segments up to its filling.

    R2CC-AllReduce with infinitely many pieces follows from two numbers of them, as its time is linear in 1/K.
    Ordering 1 takes at least the table's time and at most (K+2)/K of it; where the bound is below it, the
    mixture is at most (K+1)/K above the bound.
    """
    x = Fraction(lost)
    ring, r2cc, four_stages, bound = map(Fraction, printed)
    assert abs(played("balance", p, x) - ring) <= HALF_A_DIGIT
    coarse, fine = (
        played("r2cc-allreduce", p, x, pieces=pieces, partial=x, form="chain") for pieces in (4, 8)
    )
    assert abs(2 * fine - coarse - r2cc) <= HALF_A_DIGIT
    time = played("optcc", p, x, pieces=segments, form="simple")
    assert four_stages < time <= four_stages * Fraction(segments + 2, segments)
    if bound < four_stages:
        time = played("optcc", p, x, pieces=segments, form="mixture")
        assert bound < time <= bound * Fraction(segments + 1, segments)
