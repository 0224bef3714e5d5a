from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.balance import balance_mapping
from algorithms.catalogue import ALGORITHMS, Case
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.stripes import healthy_mapping
from algorithms.transfer import ScheduleError
from analysis import cost_model, planner, rail_costs, with_alpha
from analysis.candidates import Candidate
from analysis.played import Chunking, played_forms, played_time
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked

QUARTER = Fraction(1, 4)
RATES = RailRates.of(5, 4, [Nic(1, 2)])
FINE = Chunking(Fraction(1, 256), window=8)


def forms(alpha=Fraction(0)):
    """OptCC on 5 nodes, one of which lost a quarter, in 16 segments by its formulas."""
    return [
        Candidate("optcc", form, with_alpha.optcc(5, QUARTER, alpha, 16, form), pieces=16)
        for form in ("simple", "overlay", "mixture")
    ]


def time_of(form):
    """Its time, which it has."""
    assert form.time is not None
    return form.time


def in_order(candidates):
    """Names of forms, the fastest first."""
    return [one.form for one in sorted(candidates, key=time_of)]


def test_playing_puts_forms_in_another_order():
    """5 x 4, one NIC dead: by the formulas the overlay is the fastest, by what ranks send the mixture is."""
    assert in_order(forms()) == ["overlay", "mixture", "simple"]
    found = played_forms(forms(), RATES, FINE)
    assert in_order(found) == ["mixture", "simple", "overlay"]
    assert {one.note for one in found} == {"played"}
    stripes = ALGORITHMS["optcc"](Case(RATES.rates, pieces=16, form="mixture", pairs_of_ports=False))
    assert found[2].time == played_time(stripes, RATES, FINE)


def test_messages_cost_what_the_formulas_say():
    """With alpha each form takes longer by as much as its formula does."""
    alpha = Fraction(1, 1000)
    for dear, cheap in zip(
        played_forms(forms(alpha), RATES, FINE), played_forms(forms(), RATES, FINE), strict=True
    ):
        of_bytes = cost_model.optcc(5, QUARTER, 16, dear.form)
        of_messages = with_alpha.optcc(5, QUARTER, alpha, 16, dear.form) - of_bytes
        assert time_of(dear) - time_of(cheap) == of_messages > 0


def test_forms_are_compared_among_equals(monkeypatch):
    """Too many chunks for the room, or a form that cannot be written: all keep what the formulas say."""
    assert played_forms(forms(), RATES, FINE, most=100) == forms()

    def without_mixture(case):
        if case.form == "mixture":
            raise ScheduleError("too fine a grid")
        return healthy_mapping(ring_allreduce(5), 4)

    monkeypatch.setattr("analysis.played.ALGORITHMS", {"optcc": without_mixture})
    assert played_forms(forms(), RailRates.of(5, 4, slow={Nic(1, 2): Fraction(1, 2)}), FINE) == forms()


def test_the_planner_chooses_by_what_is_played():
    """With a chunking it takes the mixture there; without one, by the formulas, the overlay."""
    alpha = Fraction(1, 3000)
    by_formula = planner.plan(RATES, alpha=alpha)
    assert by_formula.chosen.name == "optcc (overlay)"
    by_playing = planner.plan(RATES, alpha=alpha, chunking=FINE)
    assert by_playing.chosen.name == "optcc (mixture)"
    others = [[one for one in plan.candidates if one.scheme != "optcc"] for plan in (by_formula, by_playing)]
    assert others[0] == others[1]


def test_chunks_that_do_not_fit_the_grid_are_rounded_down():
    """4001 parts of a grid of 599982: whole atoms, and the time is that of whole stripes but for 1 %."""
    rates = RailRates.of(3, 2, slow={Nic(0, 0): Fraction(99_991, 100_003)})
    stripes = balance_mapping(ring_allreduce(3), rates.rates)
    size = Fraction(1, 4001)
    with pytest.raises(ScheduleError, match="need a grid of"):
        chunked(stripes, size)
    expected = rail_costs.balance(rates) or Fraction(0)
    assert 0 < expected <= played_time(stripes, rates, Chunking(size, 8)) < Fraction(101, 100) * expected
