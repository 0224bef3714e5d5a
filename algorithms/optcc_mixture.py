"""OptCC's mixture: part of the data takes the plain ring, so that the straggler is not idle (derived here).

Where the straggler is only a little slower than the others, l < (2p-3)/(p-1), the four stages alone are
slower than the lower bound: the healthy nodes carry (2p-3)/(p-1) of the data, which takes them longer than it
takes the straggler to move 1. A plain ring over all p nodes loads everybody with 2(p-1)/p. So the fraction

    lambda = p/(p-2) (2p-3 - l(p-1)) / (l(p-1) + 1)

of the data goes by the ring, and the rest through the four stages. Then everybody is busy all the time, and
the time is about (K+1)/K of the lower bound 2(p-1)/(p-1 + 1/l). That takes planned rail shares and, as no
port has time to wait, list scheduling: `list_scheduled(optcc_mapping(schedule, rates), rates)`. On real
ranks, whose ports queue, the order as it is written is the better one (docs/algorithms.md).

Each of the K segments is mixed like the whole. Its part for the four stages takes one of the overlay's
patterns (`algorithms.optcc_overlay`); the straggler's place in the plain ring is another one in each segment.

Not handled here: what `algorithms.optcc` does not handle either. The gain over the overlay alone is a few per
cent at best, for few nodes and a straggler that lost little: `analysis.planner` compares.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from algorithms.collective import allreduce
from algorithms.four_stages import FourStages, Slope, ticks_per_body
from algorithms.optcc import healthy_ring, live_rails
from algorithms.optcc_overlay import PATTERNS
from algorithms.schedule import Schedule, ScheduleError
from algorithms.timetable import Timetable

RING_REDUCE_SCATTER, RING_ALL_GATHER = Slope(2, 7, 3), Slope(18, 14, 5)
"""When the steps of a segment's ring begin: steps of p-1, sections of p (derived here, as the overlay's)."""


def mixture_share(nodes: int, slowdown: Fraction) -> Fraction:
    """Return lambda, the fraction of the data that should go by the plain ring.

    Args:
        nodes: p, at least 3.
        slowdown: l, at least 1.

    Returns:
        From 1 (nobody is slow) down to 0 (the four stages alone meet the lower bound).

    >>> mixture_share(4, Fraction(8, 7))
    Fraction(22, 31)
    """
    p = nodes
    idle = 2 * p - 3 - slowdown * (p - 1)
    return max(Fraction(0), Fraction(p, p - 2) * idle / (slowdown * (p - 1) + 1))


def optcc_mixture(
    nodes: int,
    straggler: int,
    segments: int = 8,
    rails: int | None = None,
    lost_rails: Collection[int] = (),
    by_ring: Fraction | None = None,
) -> Schedule:
    """Write OptCC with a part of the data on the plain ring.

    Args:
        nodes: p, at least 3.
        straggler: The slow node.
        segments: K, how many parts follow each other; at least 1.
        rails: g, rails of each node; None: the straggler's transfers may use whatever it has.
        lost_rails: Which of them the straggler lost; not all.
        by_ring: lambda, the fraction that goes by the plain ring; None: by `mixture_share` for the slowdown
            g/(g-f) that follows from the rails.

    Returns:
        The schedule. Its stages are labelled "S1" to "S4", "ring reduce-scatter" and "ring all-gather".

    Raises:
        ScheduleError: An argument is out of range.
    """
    healthy = healthy_ring(nodes, straggler)
    live = live_rails(straggler, rails, lost_rails)
    if by_ring is None:
        if rails is None:
            raise ScheduleError(
                "how much goes by the plain ring depends on the slowdown: give rails, or by_ring"
            )
        by_ring = mixture_share(nodes, Fraction(rails, rails - len(set(lost_rails))))
    if segments < 1 or not 0 <= by_ring <= 1:
        raise ScheduleError(f"{segments} segments, {by_ring} by ring: need at least one, and 0 to 1")

    m = nodes - 1
    length, ring_length = _lengths(nodes, by_ring)
    of_segment = m * length + nodes * ring_length
    timetable = Timetable(nodes, grid=segments * of_segment)
    four_stages = FourStages(timetable, healthy, straggler, live, finer=nodes)
    for k in range(segments):
        lo = k * of_segment
        if length:
            turn, place = divmod(k, len(PATTERNS))
            four_stages.segment(PATTERNS[place], turn * len(PATTERNS), lo, length)
        if ring_length:
            # The straggler's place in the ring moves on, so that no hop of the healthy ring is spared more.
            members = [*healthy[k % m :], *healthy[: k % m], straggler]
            _ring(timetable, members, k, lo + m * length, ring_length, live)
    return timetable.build(allreduce(nodes, timetable.grid))


def _lengths(nodes: int, by_ring: Fraction) -> tuple[int, int]:
    """Return the lengths of a section in the four stages and of one on the ring, in atoms."""
    four_stages = nodes * (by_ring.denominator - by_ring.numerator)
    ring = (nodes - 1) * by_ring.numerator
    common = math.gcd(four_stages, ring)
    return four_stages // common, ring // common


def _ring(
    timetable: Timetable,
    members: Sequence[int],
    begin: int,
    lo: int,
    length: int,
    live: frozenset[int] | None,
) -> None:
    """Add the plain ring of one segment, which begins after `begin` bodies and ends with the straggler."""
    p = len(members)
    ring, member = np.array(members, np.int64), np.arange(p)
    body = ticks_per_body(p - 1) * p
    at_straggler = member >= p - 2
    for half, slope in enumerate((RING_REDUCE_SCATTER, RING_ALL_GATHER)):
        for step in range(p - 1):
            section = (member + half - step) % p
            place = (section - half) % p
            per_step, per_section = slope.per_step * step * p, slope.per_section * place * (p - 1)
            at = begin * body + (slope.begin * p * (p - 1) + per_step + per_section) * (p - 2)
            for whose, rails in ((~at_straggler, None), (at_straggler, live)):
                timetable.add(
                    at=at[whose],
                    stage=f"ring {'all-gather' if half else 'reduce-scatter'}",
                    source=ring[whose],
                    target=np.roll(ring, -1)[whose],
                    lo=lo + section[whose] * length,
                    hi=lo + (section[whose] + 1) * length,
                    reduce=not half,
                    rails=rails,
                )
