from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.nic import Nic
from analysis import cost_model, simulated, with_alpha
from analysis.rail_rates import RailRates
from analysis.simulated import FORMULA, SIMULATED, bundled
from analysis.simulator import Rules, simulate

ALPHA = Fraction(1, 300)
HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)


def played(algorithm, rates, **choices):
    """Simulate an algorithm of the catalogue."""
    return simulate(ALGORITHMS[algorithm](Case(rates.rates, **choices)), rates, Rules(alpha=ALPHA)).completion


@pytest.mark.parametrize(("rails", "dead"), [(8, 1), (8, 2), (4, 1), (8, 4), (4, 3)])
@pytest.mark.parametrize("form", ["chain", "helper"])
def test_two_rails_stand_for_all(form, rails, dead):
    """With rails that fail alike as one, R2CC-AllReduce takes exactly what it takes on all rails."""
    lost = Fraction(dead, rails)
    every = RailRates.of(5, rails, [Nic(0, rail) for rail in range(dead)])
    choices = {"pieces": 4, "partial": lost, "form": form}
    assert played("r2cc-allreduce", bundled(5, lost), **choices) == played("r2cc-allreduce", every, **choices)


@pytest.mark.parametrize(("rails", "dead"), [(8, 1), (4, 1), (8, 4)])
@pytest.mark.parametrize("form", ["simple", "overlay"])
def test_for_optcc_two_rails_are_near_all(form, rails, dead):
    """OptCC on all rails cuts its transfers rail by rail: within 6 % of what two rails take."""
    every = RailRates.of(5, rails, [Nic(0, rail) for rail in range(dead)])
    choices = {"pieces": 4, "form": form}
    two = played("optcc", bundled(5, Fraction(dead, rails)), **choices)
    assert abs(two / played("optcc", every, **choices) - 1) < Fraction(6, 100)


def test_rails_that_do_not_fail_alike_may_not_be_bundled():
    """A bundle with another share is another cluster: the comparison above can fail."""
    every = RailRates.of(5, 8, [Nic(0, 0)])
    choices = {"pieces": 4, "partial": EIGHTH, "form": "chain"}
    assert played("r2cc-allreduce", bundled(5, QUARTER), **choices) != played(
        "r2cc-allreduce", every, **choices
    )


@pytest.mark.parametrize("lost", [EIGHTH, QUARTER, HALF])
@pytest.mark.parametrize("nodes", [3, 8, 13])
def test_r2cc_allreduce_simulated_is_its_closed_form(nodes, lost):
    """The chain with Y = X and the best K: simulation and closed form with alpha are equal fractions."""
    found = simulated.r2cc_allreduce(nodes, lost, ALPHA)
    assert found.by == SIMULATED
    assert found.time == with_alpha.r2cc_allreduce(nodes, lost, ALPHA, pieces=found.pieces)
    assert found.time == with_alpha.r2cc_allreduce(nodes, lost, ALPHA)


@pytest.mark.parametrize("lost", [EIGHTH, HALF])
def test_optcc_is_simulated_and_takes_the_fastest(lost):
    """The time found is one of the catalogue's schedules, and none that was tried is faster."""
    found = simulated.optcc(8, lost, ALPHA)
    assert found.by == SIMULATED
    again = played("optcc", bundled(8, lost), pieces=found.pieces, form=found.form)
    assert found.time == again
    segments = 4 if lost == HALF else 8  # half of what the closed form finds best, in fours
    assert found.time <= played("optcc", bundled(8, lost), pieces=segments, form="overlay")


def test_no_schedule_is_faster_than_its_bytes():
    """Simulated with alpha, OptCC takes more than the bound without."""
    for nodes in (4, 8):
        for lost in (EIGHTH, HALF):
            assert simulated.optcc(nodes, lost, ALPHA).time > cost_model.optcc(nodes, lost, form="mixture")


@pytest.mark.parametrize("scheme", [simulated.r2cc_allreduce, simulated.optcc])
def test_without_room_or_alpha_the_closed_form_stands_in(scheme):
    """It says so, with the closed form's time; without alpha the pieces have no end."""
    found = scheme(8, HALF, ALPHA, 0)
    assert found.by == FORMULA
    assert (
        found.time
        == {
            simulated.r2cc_allreduce: with_alpha.r2cc_allreduce(8, HALF, ALPHA),
            simulated.optcc: with_alpha.optcc(8, HALF, ALPHA, form="overlay"),
        }[scheme]
    )
    endless = scheme(8, HALF, Fraction(0))
    assert (endless.by, endless.pieces) == (FORMULA, None)
    assert (
        endless.time
        == {
            simulated.r2cc_allreduce: cost_model.r2cc_allreduce(8, HALF),
            simulated.optcc: cost_model.optcc(8, HALF),
        }[scheme]
    )


def test_a_schedule_that_cannot_be_written_is_left_to_the_closed_form():
    """Pieces that need too fine a grid: the prediction stays, and is called one."""
    alpha = Fraction(1, 10**9)  # so small that thousands of pieces are best
    found = simulated.r2cc_allreduce(97, Fraction(1_000_003, 2_000_029), alpha, most=10**9)
    assert found.by == FORMULA


def test_where_four_stages_miss_the_bound_the_mixture_is_predicted():
    """4 nodes, X = 1/8, no alpha: the mixture's closed form is the bound; at X = 1/2 the overlay is."""
    assert simulated.optcc_predicted(4, EIGHTH, Fraction(0)).form == "mixture"
    assert simulated.optcc_predicted(4, HALF, Fraction(0)).form == "overlay"
