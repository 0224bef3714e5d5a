"""What every scheme would take on a given cluster, each with its best number of pieces.

One function a scheme; each returns a list, since a scheme may have several forms. A scheme that cannot serve
the cluster is listed all the same, without a time and with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from algorithms.re_ranking import common_capacity, re_rank
from analysis import approximation_gap, cost_model, lower_bound, rail_bound, recursive, with_alpha
from analysis.rail_rates import RailRates

PATTERNS = 4
"""Patterns that OptCC's overlay and mixture lay over each other; segments should come in as many."""


@dataclass(frozen=True)
class Candidate:
    """A scheme and what it would take.

    Attributes:
        scheme: Name as on the command line: ring, hot-repair, balance, r2cc-allreduce, recursive-r2cc, optcc,
            nested-optcc.
        form: Which form of it; empty where there is only one.
        time: In units of D/B, alpha included; None if the scheme cannot serve this cluster.
        note: Why not, or what the time rests on; may be empty.
        pieces: K: pieces of stage 2 (R2CC-AllReduce) or segments (OptCC), or None.
        partial: Y, the share of the partial AllReduce, or None.
        order: Order of the ring if it is not the natural one, or None.
    """

    scheme: str
    form: str
    time: Fraction | None
    note: str = ""
    pieces: int | None = None
    partial: Fraction | None = None
    order: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """Scheme and form."""
        return f"{self.scheme} ({self.form})" if self.form else self.scheme


@dataclass(frozen=True)
class Straggler:
    """The one node that lost bandwidth.

    Attributes:
        node: Which.
        lost: X, the fraction it lost; below 1.
        whole_rails: Whether what it lost are whole rails, not parts of their rates.
    """

    node: int
    lost: Fraction
    whole_rails: bool


def find_straggler(rates: RailRates) -> Straggler | None:
    """Find the one degraded node; None if there is none, several, or one that lost everything."""
    lost = [1 - bandwidth for bandwidth in rates.bandwidths()]
    degraded = [node for node, share in enumerate(lost) if share]
    if len(degraded) != 1 or lost[degraded[0]] == 1:
        return None
    of_node = rates.rates[degraded[0]]
    return Straggler(degraded[0], lost[degraded[0]], set(of_node) <= {Fraction(0), Fraction(1, rates.rails)})


def ring(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """The plain ring with equal shares on all rails: the fail-stop baseline."""
    if dead := rates.dead():
        return [Candidate("ring", "", None, f"stops at a dead rail ({dead[0]})")]
    return [Candidate("ring", "", with_alpha.hot_repair(rates, alpha))]


def hot_repair(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """The ring as planned, its dead rails' shares on backup rails (paper 1, figure 4)."""
    return [Candidate("hot-repair", "", with_alpha.hot_repair(rates, alpha))]


def balance(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """The ring with its shares spread over the live rails (figure 5), and re-ranked (figure 18)."""
    natural = with_alpha.balance(rates, alpha)
    order = re_rank(common_capacity(rates.rates))
    no_hop = "" if natural is not None else "two neighbours of the ring share no live rail"
    candidates = [Candidate("balance", "", natural, no_hop)]
    if order != tuple(range(rates.nodes)):
        time = with_alpha.balance(rates, alpha, order)
        lacking = "" if time is not None else "no order gives every hop a common rail"
        candidates.append(Candidate("balance", "re-ranked", time, lacking, order=order))
    return candidates


def r2cc_allreduce(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """The two-stage R2CC-AllReduce (figure 6): chain with Y = X and with Y*, and the authors' helper form."""
    straggler = find_straggler(rates)
    scheme = "r2cc-allreduce"
    if straggler is None or not straggler.whole_rails or rates.nodes < 3:
        return [Candidate(scheme, "", None, "needs one node that lost whole rails, and two others")]
    n, lost = rates.nodes, straggler.lost
    forms: list[tuple[str, str, Fraction]] = [
        ("chain", "chain, Y = X", lost),
        ("chain", "chain, Y = Y*", approximation_gap.best_partial(n, lost)),
        ("helper", "helper, Y = X", lost),
    ]
    candidates = []
    for form, label, partial in forms:

        def cost(pieces: int, form: str = form, partial: Fraction = partial) -> Fraction:
            return with_alpha.r2cc_allreduce(n, lost, alpha, partial, pieces, form)

        pieces, time = with_alpha.best_pieces(cost)
        candidates.append(Candidate(scheme, label, time, pieces=pieces, partial=partial))
    return candidates


def recursive_r2cc(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """R2CC-AllReduce applied level by level (derived here); listed where several nodes are degraded."""
    bandwidths = rates.bandwidths()
    if find_straggler(rates) is not None or min(bandwidths) == 1:
        return []
    if not is_nested(rates):
        return [Candidate("recursive-r2cc", "", None, "needs live rails that nest from node to node")]
    bound = rail_bound.optimum(rates).time
    if bound is None:
        return [Candidate("recursive-r2cc", "", None, "live rails do not connect all nodes")]
    time = max(bound, recursive.time(bandwidths, recursive.rule_shares(bandwidths)))
    # One message a step of the widest ring, and one for each hop of the chain.
    messages = 3 * rates.nodes - 2
    note = "finely pipelined, levels by the rule; rails as if they were one"
    return [Candidate("recursive-r2cc", "", time + messages * alpha, note)]


def optcc(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """OptCC's four stages (paper 2): ordering 1 alone, the overlay, and the mixture with the plain ring."""
    straggler = find_straggler(rates)
    if straggler is None or rates.nodes < 3:
        return [Candidate("optcc", "", None, "needs one degraded node, and two others")]
    p, lost = rates.nodes, straggler.lost
    forms = ["simple", "overlay"]
    if cost_model.optcc(p, lost) > lower_bound.one_straggler(p, lost):
        forms.append("mixture")
    candidates = []
    for form in forms:

        def cost(segments: int, form: str = form) -> Fraction:
            return with_alpha.optcc(p, lost, alpha, segments, form)

        segments, time = with_alpha.best_pieces(cost)
        if form != "simple":  # four patterns take turns
            segments = PATTERNS * max(1, round(Fraction(segments, PATTERNS)))
            time = cost(segments)
        candidates.append(Candidate("optcc", form, time, pieces=segments))
    return candidates


def nested_optcc(rates: RailRates, alpha: Fraction) -> list[Candidate]:
    """OptCC for any bandwidths whose live rails nest (derived here); listed where several are degraded."""
    bandwidths = rates.bandwidths()
    if find_straggler(rates) is not None or min(bandwidths) == 1:
        return []
    if not is_nested(rates) or rates.nodes < 3:
        return [Candidate("nested-optcc", "", None, "needs live rails that nest from node to node")]
    bound = rail_bound.optimum(rates).time
    if bound is None:
        return [Candidate("nested-optcc", "", None, "live rails do not connect all nodes")]

    def cost(segments: int) -> Fraction:
        return (segments + 3) * (bound / segments + (2 * rates.nodes - 3) * alpha)

    segments, time = with_alpha.best_pieces(cost)
    return [Candidate("nested-optcc", "", time, "as if it reached T*", pieces=segments)]


SCHEMES: tuple[Callable[[RailRates, Fraction], list[Candidate]], ...] = (
    ring,
    hot_repair,
    balance,
    r2cc_allreduce,
    recursive_r2cc,
    optcc,
    nested_optcc,
)
"""Every scheme, from the simplest on: of two that take the same time the first is preferred."""


def is_nested(rates: RailRates) -> bool:
    """Whether the nodes can be sorted so that each one's rates are, rail by rail, at most the next one's."""
    rows = sorted(rates.rates, key=sum)
    pairs = [pair for less, more in pairwise(rows) for pair in zip(less, more, strict=True)]
    return any(rows[0]) and all(low <= high for low, high in pairs)
