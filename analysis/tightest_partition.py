"""Find the partition of the nodes that binds an allreduce on rails, without trying them all.

Wanted is the partition P into q >= 2 parts with the smallest ratio `rate(P) / (q-1)`, where rate(P) is what
can move between the parts (`crossing_rate`). With w_r(M) the rate of the nodes M on rail r,

    rate(P) = sum of S_r - sum over parts M of e(M),    e(M) = sum over rails of max(0, 2 w_r(M) - S_r),

because only one part can have more than half of a rail.

**Ratio.** Start with the ratio of some partition and look for one with a smaller ratio until there is none
(Dinkelbach's method). P has a smaller ratio than `ratio` iff the sum over its parts of
`f(M) = -e(M) - ratio` is smaller than it is for the trivial partition, which has all nodes in one part.

**Sum over parts.** e is supermodular (a convex function of a sum, for each rail), so f is submodular on sets
that intersect, and the smallest sum over the parts of a partition is found greedily (Edmonds; Dilworth's
truncation): node by node, give node v the largest x(v) such that x(M) <= f(M) for all sets M of nodes so far
that hold v. Let M_v be the smallest set where this is an equality. Two such tight sets that intersect have a
tight union and a tight intersection. So joining, for each v, all parts that M_v meets leaves tight parts. In
the end their f sum up to x of all nodes, and no partition can be below that. As each M_v is the smallest set,
every other partition that reaches this sum arises from the one found by joining parts.

**One set.** The largest x(v) is the least of f(M) - x(M without v). Once the rails are chosen on which M has
more than half, each node can be in M or not, independently: it is if that makes the number smaller. So it is
enough to try every set of rails; those whose rates differ only by a factor count once.

All numbers are integers: rates are scaled by a common denominator, sums by the ratio's. Source: derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

Partition = tuple[tuple[int, ...], ...]
"""Parts of the nodes, each ascending, sorted by their first node."""

_MOST_KINDS = 14
"""So many kinds of rails are searched completely; 2^14 sets of them for each node are still fast."""


def crossing_rate(rates: Sequence[Sequence[Fraction | int]], partition: Sequence[Sequence[int]]) -> Fraction:
    """Rate at which data can move between the parts of a partition.

    Args:
        rates: `rates[node][rail]` of each NIC and direction, in any unit.
        partition: The parts.

    Returns:
        The sum over rails of min(S_r, 2 (S_r - A_r)), in the same unit: S_r is the rate of all nodes on the
        rail, A_r that of the part that has most of it.
    """
    total = Fraction(0)
    for rail in range(len(rates[0])):
        of_part = [sum((rates[node][rail] for node in part), Fraction(0)) for part in partition]
        everything = sum(of_part, Fraction(0))
        total += min(everything, 2 * (everything - max(of_part)))
    return total


def tightest_partition(rates: Sequence[Sequence[Fraction]]) -> tuple[Partition, bool]:
    """Find the partition with the smallest `crossing_rate / (parts - 1)`, the finest one of several.

    Args:
        rates: `rates[node][rail]` of two nodes or more that live rails connect.

    Returns:
        The partition, and whether every set of rails was looked at. If not, there may be a tighter one.
    """
    scaled = _kinds_of_rails(rates)
    sets, is_complete = _sets_of_rails(len(scaled[0]))

    def ratio_of(parts: Partition) -> Fraction:
        return crossing_rate(scaled, parts) / (len(parts) - 1)

    best: Partition = tuple((node,) for node in range(len(rates)))
    ratio = ratio_of(best)
    while True:
        found = _smallest_sum(scaled, sets, ratio)
        if len(found) == 1 or ratio_of(found) > ratio:
            return best, is_complete
        best = found
        if ratio_of(found) == ratio:
            return best, is_complete
        ratio = ratio_of(found)


def _smallest_sum(scaled: list[list[int]], sets: NDArray[np.int64], ratio: Fraction) -> Partition:
    """Find the finest partition with the smallest sum of f over its parts.

    Args:
        scaled: Rate of each node on each kind of rail.
        sets: The sets of rails to look at, as rows of 0 and 1.
        ratio: The ratio in the definition of f.
    """
    nodes = len(scaled)
    # All below is multiplied by the denominator of the ratio. No number exceeds this bound.
    largest = 4 * ratio.denominator * sum(map(sum, scaled)) + nodes * ratio.numerator
    kind: Any = np.int64 if largest < 2**63 else np.object_
    # 2 w_r(u) summed over the rails of each set, and the sum of S_r over them.
    own: NDArray[Any] = 2 * ratio.denominator * (sets.astype(kind) @ np.array(scaled, dtype=kind).T)
    majority = own.sum(axis=1) // 2

    x: NDArray[Any] = np.zeros(nodes, dtype=kind)
    part_of = list(range(nodes))
    for node in range(nodes):
        gains = own[:, :node] + x[:node]
        totals = np.maximum(gains, 0).sum(axis=1) + own[:, node] - majority
        most = totals.max()
        x[node] = -most - ratio.numerator
        # Of the sets of rails that give the least x, the one with the fewest nodes gives M_v.
        smallest = min((gains[row] > 0 for row in np.flatnonzero(totals == most)), key=np.count_nonzero)
        met = {part_of[member] for member in np.flatnonzero(smallest)}
        part_of = [node if part in met else part for part in part_of]
    parts = [tuple(member for member in range(nodes) if part_of[member] == part) for part in set(part_of)]
    return tuple(sorted(parts))


def _kinds_of_rails(rates: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """Scale rates to integers, and add up the rails that differ by a factor only.

    Returns:
        For each node its rates on every kind of rail.
    """
    scale = lcm(*(rate.denominator for of_node in rates for rate in of_node))
    factors: dict[tuple[int, ...], int] = {}
    for rail in range(len(rates[0])):
        column = [int(of_node[rail] * scale) for of_node in rates]
        factor = gcd(*column)
        if factor:
            shape = tuple(rate // factor for rate in column)
            factors[shape] = factors.get(shape, 0) + factor
    kinds = [[rate * factor for rate in shape] for shape, factor in factors.items()]
    return [list(of_node) for of_node in zip(*kinds, strict=True)]


def _sets_of_rails(kinds: int) -> tuple[NDArray[np.int64], bool]:
    """List sets of kinds of rails as rows of 0 and 1, and tell whether these are all sets.

    With too many kinds, only the sets with at most two, and those that lack at most two.
    """
    if kinds <= _MOST_KINDS:
        return np.array(list(product((0, 1), repeat=kinds)), dtype=np.int64), True
    few = np.zeros((1 + kinds + kinds * (kinds - 1) // 2, kinds), dtype=np.int64)
    for row, chosen in enumerate(chain(((),), *(combinations(range(kinds), size) for size in (1, 2)))):
        few[row, list(chosen)] = 1
    return np.vstack([few, 1 - few]), False
