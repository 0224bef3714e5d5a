"""One degraded node: the time of a scheme by simulation where that is quick, by its closed form elsewhere.

A function a scheme. Each starts from the closed form (`analysis.with_alpha`) and its best number of pieces,
writes that schedule, and plays it. `Found.by` says what the time is.

Rails that fail alike can be busy alike: each carries its part of every transfer and pays its own alpha, all
at the same times. So f rails of g are one rail with f/g of the bandwidth here, and whatever X is, two rails
are enough: one that the degraded node lost, and one that it still has. For R2CC-AllReduce that is exact;
OptCC written for all g rails cuts its transfers differently on each, and often takes somewhat longer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.transfer import ScheduleError
from analysis import cost_model, lower_bound, straggler, with_alpha
from analysis.rail_rates import RailRates
from analysis.simulator import Rules, simulate

MOST_MESSAGES = 12_000
"""So many are played in a third of a second; more are left to the closed form."""

FORMULA, SIMULATED = "formula", "simulated"


class Found(NamedTuple):
    """What a scheme takes.

    Attributes:
        time: In D/B, alpha included.
        by: SIMULATED or FORMULA.
        pieces: K, pieces or segments; None: infinitely many, for which there is no alpha.
        form: Which form of the scheme it is.
    """

    time: Fraction
    by: str
    pieces: int | None
    form: str


def bundled(nodes: int, lost: Fraction) -> RailRates:
    """Describe a cluster whose node 0 lost the share X, with the rails that fail alike as one.

    Args:
        nodes: Number of nodes.
        lost: X, above 0 and below 1.

    >>> bundled(2, Fraction(1, 8)).bandwidths()
    [Fraction(7, 8), Fraction(1, 1)]
    """
    degraded, healthy = (Fraction(0), 1 - lost), (lost, 1 - lost)
    return RailRates((degraded, *[healthy] * (nodes - 1)))


def r2cc_allreduce(nodes: int, lost: Fraction, alpha: Fraction, most: int = MOST_MESSAGES) -> Found:
    """Time of R2CC-AllReduce by its chain, with Y = X as in paper 1.

    Args:
        nodes: n, at least 3.
        lost: X, above 0 and below 1.
        alpha: Cost of a message in D/B.
        most: Room: so many messages are simulated, half as many where that only confirms the closed form.
    """
    if not alpha:
        return Found(cost_model.r2cc_allreduce(nodes, lost), FORMULA, None, "chain")
    pieces, time = with_alpha.best_pieces(
        lambda k: with_alpha.r2cc_allreduce(nodes, lost, alpha, pieces=k), most=None
    )
    # two rings, and a chain whose hops between healthy nodes use both rails
    messages = 2 * nodes * (nodes - 1) + 2 * (nodes - 1) * (nodes - 2) + 2 * pieces * (nodes - 1)
    predicted = Found(time, FORMULA, pieces, "chain")
    return _played("r2cc-allreduce", predicted, nodes, lost, alpha) if 2 * messages <= most else predicted


def optcc(nodes: int, lost: Fraction, alpha: Fraction, most: int = MOST_MESSAGES) -> Found:
    """Time of OptCC, the least of a few forms and numbers of segments that are simulated.

    With alpha the closed form is a rough guide only: it knows how many messages a port has, and not which of
    them meet there. So these are played, as long as there is room, and the fastest counts. Where the closed
    form finds K segments best:

    - the overlay with K/2 and K segments, in fours, since it has four patterns;
    - before that, where the straggler is the slowest port, the simple form with K.

    The arguments are those of `r2cc_allreduce`; the messages are those of all that is played.
    """
    predicted = optcc_predicted(nodes, lost, alpha)
    if predicted.pieces is None:
        return predicted
    segments = predicted.pieces
    tried = [("overlay", k) for k in sorted({_in_fours(segments // 2), _in_fours(segments)})]
    if not straggler.mixture_share(nodes, lost):
        tried.insert(0, ("simple", segments))
    found = []
    for form, k in tried:
        # each of p-1 sections takes 2 (p-2) hops of the ring on both rails, and two with the straggler
        most -= 4 * k * (nodes - 1) ** 2
        if most >= 0:
            found.append(_played("optcc", predicted._replace(form=form, pieces=k), nodes, lost, alpha))
    return min((one for one in found if one.by == SIMULATED), key=lambda one: one.time, default=predicted)


def _in_fours(segments: int) -> int:
    return max(4, segments - segments % 4)


def optcc_predicted(nodes: int, lost: Fraction, alpha: Fraction) -> Found:
    """Time of OptCC by its closed form, as the overlay or as the mixture with the plain ring.

    Args:
        nodes: p, at least 3.
        lost: X, above 0 and below 1.
        alpha: Cost of a message in D/B.
    """
    forms = ["overlay"]
    if cost_model.optcc(nodes, lost) > lower_bound.one_straggler(nodes, lost):
        forms.append("mixture")
    return min((_predicted(form, nodes, lost, alpha) for form in forms), key=lambda one: one.time)


def _predicted(form: str, nodes: int, lost: Fraction, alpha: Fraction) -> Found:
    if not alpha:
        return Found(cost_model.optcc(nodes, lost, form=form), FORMULA, None, form)
    segments, time = with_alpha.best_pieces(
        lambda k: with_alpha.optcc(nodes, lost, alpha, k, form), most=None
    )
    return Found(time, FORMULA, segments, form)


def _played(algorithm: str, predicted: Found, nodes: int, lost: Fraction, alpha: Fraction) -> Found:
    """Simulate what was predicted; the prediction, if its pieces need too fine a grid."""
    rates = bundled(nodes, lost)
    case = Case(rates.rates, pieces=predicted.pieces, partial=lost, form=predicted.form)
    try:
        stripes = ALGORITHMS[algorithm](case)
    except ScheduleError:
        return predicted
    return predicted._replace(time=simulate(stripes, rates, Rules(alpha=alpha)).completion, by=SIMULATED)
