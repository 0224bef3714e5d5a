"""Recursive R2CC-AllReduce: R2CC-AllReduce once more for each further level of bandwidth.

Paper 1 (R2CC, arXiv 2512.25059) names it for several degraded nodes; a definition could not be obtained, so
this one is derived here. Let b^1 < ... < b^L be the bandwidths that occur, S_k the n_k nodes that have at
least b^k, and b^0 = 0.

*Stage 1*: at the same time for every level k an allreduce of a share Y_k of the data over S_k, on the
increment b^k - b^(k-1) that level k adds to the bandwidth of each of its nodes.

*Stage 2*: for every level but the first, the n - n_k nodes that are missing give their own data, and all get
the full sum. In total the nodes of S_k receive n - n_k contributions and n_k - 1 times the sum, and send as
much; heads and ends of the chains rotate, so each carries (n-1)/n_k of Y_k in each direction, and each
missing node Y_k.

Times are in units of D/B, bandwidths in units of B. Not handled here: rails (levels exist on rails only if
the sets of live rails nest), the filling of the pipeline, and any overlap of the stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from analysis.errors import ModelError
from analysis.exact import Exact, exact, positive_bandwidths
from analysis.linear_program import Sum, minimise

_LARGEST_DENOMINATOR = 10**5


class Level(NamedTuple):
    """One level of bandwidth."""

    increment: Fraction
    """b^k - b^(k-1), in units of B."""
    members: frozenset[int]
    """S_k, the nodes that have this bandwidth or more."""


def levels(bandwidths: Sequence[Exact]) -> list[Level]:
    """List the levels of bandwidth, slowest first.

    Args:
        bandwidths: Of each node, in units of B, as for `analysis.lower_bound.allreduce`.

    Raises:
        ModelError: There is no node, or a bandwidth is not above zero, or it is a float.

    >>> [(str(level.increment), len(level.members)) for level in levels([1, 1, "3/4", "1/2"])]
    [('1/2', 4), ('1/4', 3), ('1/4', 2)]
    """
    nodes = positive_bandwidths(bandwidths)
    steps = [Fraction(0), *sorted(set(nodes))]
    return [
        Level(step - below, frozenset(i for i, bandwidth in enumerate(nodes) if bandwidth >= step))
        for below, step in pairwise(steps)
    ]


def time(bandwidths: Sequence[Exact], shares: Sequence[Exact]) -> Fraction:
    """Time of both stages, finely pipelined.

    `max_k 2 (n_k-1)/n_k Y_k / (b^k - b^(k-1))`, then the longest of all nodes' second stages,
    `(sum of Y_k of levels without i + sum over other levels k > 1 of (n-1)/n_k Y_k) / b_i`. With one degraded
    node this is R2CC-AllReduce with Y = Y_2. Source: derived here.

    Args:
        bandwidths: As for `levels`.
        shares: Y_k, one for each level, slowest first; together 1.

    Returns:
        The time in units of D/B.

    Raises:
        ModelError: As for `levels`, or these are no shares of the levels.
    """
    nodes = positive_bandwidths(bandwidths)
    steps = levels(nodes)
    parts = [exact(share, f"share of level {level}") for level, share in enumerate(shares, start=1)]
    if len(parts) != len(steps) or min(parts) < 0 or sum(parts) != 1:
        written = ", ".join(map(str, parts))
        raise ModelError(
            f"shares {written}: give one for each of the {len(steps)} levels of bandwidth, together 1"
        )
    first = max(cost * share for cost, share in zip(_first_stage(steps), parts, strict=True))
    second = max(
        sum((cost * share for cost, share in zip(costs, parts, strict=True)), Fraction(0))
        for costs in _second_stage(nodes, steps)
    )
    return first + second


def rule_shares(bandwidths: Sequence[Exact]) -> list[Fraction]:
    """Shares in proportion to the bandwidth that the levels add: Y_k = (b^k - b^(k-1)) / b^L.

    The rule of paper 1 for one degraded node, Y = X, carried over. It can be a bad one: a level of a single
    node is used too, and with one fast node of eight, the others at half speed, makes it three times as slow
    as the healthy ring.

    Args:
        bandwidths: As for `levels`.

    Raises:
        ModelError: As for `levels`.
    """
    steps = levels(bandwidths)
    fastest = sum((step.increment for step in steps), Fraction(0))
    return [step.increment / fastest for step in steps]


def best_shares(bandwidths: Sequence[Exact]) -> list[Fraction]:
    """Shares with the least `time`, by linear programming.

    Args:
        bandwidths: As for `levels`.

    Returns:
        The shares, rounded to fractions with denominators up to 100,000, and together 1. They are exact if
        the best ones are such fractions.

    Raises:
        ModelError: As for `levels`, or SciPy is not installed.
    """
    nodes = positive_bandwidths(bandwidths)
    steps = levels(nodes)
    at_most: list[tuple[Sum, float]] = []
    for level, cost in enumerate(_first_stage(steps)):
        at_most.append(({level: float(cost), "first stage": -1.0}, 0.0))
    for costs in _second_stage(nodes, steps):
        terms: Sum = {level: float(cost) for level, cost in enumerate(costs)}
        at_most.append(({**terms, "second stage": -1.0}, 0.0))
    everything: Sum = dict.fromkeys(range(len(steps)), 1.0)
    found = minimise({"first stage": 1.0, "second stage": 1.0}, at_most=at_most, equal=[(everything, 1.0)])
    parts = [
        max(Fraction(0), Fraction(found[level]).limit_denominator(_LARGEST_DENOMINATOR))
        for level in range(len(steps))
    ]
    total = sum(parts, Fraction(0))
    return [part / total for part in parts]


def _first_stage(steps: Sequence[Level]) -> list[Fraction]:
    """Time that each level's allreduce takes, for a share of 1."""
    return [Fraction(2 * (len(members) - 1), len(members)) / increment for increment, members in steps]


def _second_stage(nodes: Sequence[Fraction], steps: Sequence[Level]) -> list[list[Fraction]]:
    """For each node the time that each level's second stage keeps it busy, for a share of 1."""

    def load(node: int, level: int) -> Fraction:
        members = steps[level].members
        if node not in members:
            return Fraction(1)
        # The first level has all nodes and needs no second stage.
        return Fraction(len(nodes) - 1, len(members)) if level else Fraction(0)

    return [
        [load(node, level) / bandwidth for level in range(len(steps))] for node, bandwidth in enumerate(nodes)
    ]
