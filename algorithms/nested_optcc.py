"""Nested OptCC: an allreduce for nodes of any bandwidths (derived here; paper 2 has one straggler).

In OptCC the healthy nodes form a ring and the straggler is a *leaf*: it gives each section once and takes it
once. With several bandwidths there are several such rings at once, each for a share of the data: the two
fastest nodes form one, the three fastest another one, and so on up to all nodes, which is the plain ring. All
nodes that are not in a ring are its leaves. `analysis.lower_bound.nested_mixture` computes the shares that
make every node as busy as its bandwidth allows. A single node as a ring is a star.

For one section of a ring of k members, in OptCC's ordering 2:

- S3: every leaf gives its data to a member, which adds it;
- S1: the section goes round the ring from member j+1 to its owner, member j, which then holds the full sum;
- S4: the full sum goes round the ring;
- S2: the owner gives the full sum to every leaf.

Several leaves would all want the same member at the same time. So the leaves are spread round the ring: leaf
i gives section j to the member i L places further on, where the section passes a little later, and takes the
sections in an order that is as much rotated.

Loads, counted: in a ring of k, a member sends and receives 2 (k-1)/k + (p-k)/k = 1 + (p-2)/k of the ring's
data, a leaf 1. So node i, which owns the fraction w_i of all data, has 1 + (p-2) w_i, and all together
2 (p-1), the least there is.

With planned rail shares and list scheduling (`algorithms.optcc_mapping`, `algorithms.list_schedule`) the time
is within (K+3)/K of what the busiest NIC needs for 192 of 200 random clusters with K = 8, for 174 with K = 16
and for 159 with K = 32; of the 60 among them with several degraded nodes for 58, 42 and 33. The others lose
time in every segment: up to (K + 3.7)/K for K = 8, (K + 6.6)/K for 16, and (K + 13.6)/K for 32.

Not promised: the node-level lower bound on rails. Neighbours in a ring can only use rails that both have, so
it takes live sets of rails that nest (the slower node's within the faster one's), and even then rails of the
faster nodes may have to stay idle: compare with `analysis.rail_bound`. Nodes without a common live rail
cannot be neighbours at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from algorithms.collective import allreduce
from algorithms.four_stages import Slope
from algorithms.schedule import Schedule, ScheduleError
from algorithms.timetable import Timetable

Ring = tuple[Sequence[int], Fraction]
"""The members in the order of the ring, and the share of the data that it reduces."""

REDUCE_SCATTER, ALL_GATHER, TAKE = Slope(2, 10, 8), Slope(18, 11, 14), 24
"""When S1, S4 and S2 of a segment begin, in eighths of a body, the time of a segment; S3 begins it."""


def nested_optcc(nodes: int, mixture: Sequence[Ring], segments: int = 8) -> Schedule:
    """Write an allreduce by rings with leaves.

    Args:
        nodes: p, at least 1.
        mixture: The rings, each as (members, share); the shares sum up to 1. With one straggler,
            `[(healthy nodes, 1)]` is OptCC in ordering 2.
        segments: K, how many parts of the data follow each other; at least 1.

    Returns:
        The schedule. Its stages are labelled "S1" to "S4".

    Raises:
        ScheduleError: An argument is out of range; names the ring at fault.

    >>> schedule = nested_optcc(4, [((0, 1), Fraction(2, 5)), ((0, 1, 2), Fraction(3, 5))])
    >>> [str(sent) for sent, received in schedule.loads()]
    ['9/5', '9/5', '7/5', '1']
    """
    rings = [(list(members), Fraction(share)) for members, share in mixture if share]
    _check(nodes, rings, segments)
    # Atoms per section, so that every ring gets its share of a segment.
    parts = [share / len(members) for members, share in rings]
    unit = math.lcm(*(part.denominator for part in parts))
    lengths = [int(part * unit) for part in parts]
    common = math.gcd(*lengths)
    lengths = [length // common for length in lengths]
    of_segment = sum(length * len(members) for length, (members, _) in zip(lengths, rings, strict=True))

    timetable = Timetable(nodes, grid=segments * of_segment)
    # Ticks per segment, such that all planned times are whole.
    ticks = 8 * math.lcm(*(len(members) * max(1, len(members) - 1) for members, _ in rings))
    lo = 0
    for k in range(segments):
        for length, (members, _) in zip(lengths, rings, strict=True):
            leaves = [node for node in range(nodes) if node not in members]
            _segment(timetable, members, leaves, (k * ticks, ticks), (lo, length))
            lo += length * len(members)
    return timetable.build(allreduce(nodes, timetable.grid))


def _segment(
    timetable: Timetable,
    members: Sequence[int],
    leaves: Sequence[int],
    time: tuple[int, int],
    place: tuple[int, int],
) -> None:
    """Add one ring's part of one segment.

    Args:
        timetable: Receives the transfers.
        members: The k nodes of the ring, in its order.
        leaves: All other nodes.
        time: When the segment begins, and how many ticks there are to a segment.
        place: Where the part lies, and the length of each of its k sections.
    """
    (start, ticks), (lo, length) = time, place
    ring, section = np.array(members, np.int64), np.arange(len(members))
    k = len(members)
    where = {"lo": lo + section * length, "hi": lo + (section + 1) * length}
    eighth, window = ticks // 8, ticks // k

    for number, leaf in enumerate(leaves):
        further = number * k // len(leaves)
        timetable.add(
            at=start + section * window,
            stage="S3",
            source=leaf,
            target=ring[(section + 1 + further) % k],
            reduce=True,
            **where,
        )
        timetable.add(
            at=start + TAKE * eighth + (section - further) % k * window,
            stage="S2",
            source=ring,
            target=leaf,
            reduce=False,
            **where,
        )
    for step in range(k - 1):
        for stage, slope, at_member in (("S1", REDUCE_SCATTER, section + 1), ("S4", ALL_GATHER, section)):
            by_step = slope.per_step * step * (eighth // (k - 1))
            by_section = slope.per_section * section * (eighth // k)
            timetable.add(
                at=start + slope.begin * eighth + by_step + by_section,
                stage=stage,
                source=ring[(at_member + step) % k],
                target=ring[(at_member + step + 1) % k],
                reduce=stage == "S1",
                **where,
            )


def _check(nodes: int, rings: Sequence[tuple[Sequence[int], Fraction]], segments: int) -> None:
    if nodes < 1 or segments < 1:
        raise ScheduleError(f"{nodes} nodes, {segments} segments: need at least one of each")
    for members, share in rings:
        distinct = set(members)
        if not distinct or len(distinct) != len(members) or not distinct <= set(range(nodes)) or share < 0:
            raise ScheduleError(
                f"a ring of {list(members)} for {share} of the data: give distinct nodes of 0..{nodes - 1} "
                "and a share above zero"
            )
    if sum(share for _, share in rings) != 1:
        raise ScheduleError(f"the shares of the rings sum up to {sum(share for _, share in rings)}, not to 1")
