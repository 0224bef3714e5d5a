"""OptCC: an allreduce that hardly notices that one participant is slow (paper 2, arXiv 2606.01680).

A ring passes everything through the straggler twice. OptCC's four stages (`algorithms.four_stages`) pass it
through once, and leave the rest to a ring of the healthy nodes. The data is cut into K segments that follow
each other through the stages like goods on a belt, so that the straggler always has one to receive and one to
send. A body is the time it takes for that.

This is the simple form: all segments go through the stages in the same order and begin one body apart.
Filling and emptying the belt costs two bodies: with planned rail shares (`algorithms.optcc_mapping`) the time
is within (K+2)/K of max(l, (2p-3)/(p-1)) by ordering 1, and about (K+3)/K of it by ordering 2. Here l is the
straggler's slowdown, g/(g-f) for f dead rails of g.

Program order: every transfer has a planned time, a linear function of its segment, step and section, and the
transfers are written in the order of these times (`algorithms.timetable`).

Not handled here: `algorithms.optcc_overlay` fills the belt faster; where l < (2p-3)/(p-1) four stages alone
leave the straggler idle, and `algorithms.optcc_mixture` gives it work; several stragglers are for
`algorithms.nested_optcc`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from algorithms.collective import allreduce
from algorithms.four_stages import FourStages, Pattern, Slope
from algorithms.schedule import Schedule, ScheduleError
from algorithms.timetable import Timetable

ORDERINGS = {
    1: Pattern(1, receive=8, send=16, reduce_scatter=Slope(0, 8, 4), all_gather=Slope(23, 8, 3)),
    2: Pattern(2, receive=8, send=0, reduce_scatter=Slope(2, 6, 6), all_gather=Slope(14, 6, 4)),
}
"""The two orders of the stages. Their times were found by a search over simulations (derived here)."""


def optcc_allreduce(
    nodes: int,
    straggler: int,
    segments: int = 8,
    ordering: int = 1,
    rails: int | None = None,
    lost_rails: Collection[int] = (),
) -> Schedule:
    """Write the simple form of OptCC.

    Args:
        nodes: p, at least 3.
        straggler: The slow node.
        segments: K, how many parts follow each other; at least 1.
        ordering: 1 (S1 S2 S3 S4) or 2 (S3 S1 S4 S2).
        rails: g, rails of each node; None: the straggler's transfers may use whatever it has.
        lost_rails: Which of them the straggler lost; not all.

    Returns:
        The schedule. Its stages are labelled "S1" to "S4".

    Raises:
        ScheduleError: An argument is out of range.

    >>> for transfer in optcc_allreduce(nodes=3, straggler=2, segments=1):
    ...     print(transfer)
    transfer 0 (S1): node 1 -> node 0, reduce [0, 1)
    transfer 1 (S1): node 0 -> node 1, reduce [1, 2)
    transfer 2 (S2): node 0 -> node 2, reduce [0, 1)
    transfer 3 (S2): node 1 -> node 2, reduce [1, 2)
    transfer 4 (S3): node 2 -> node 1, copy [0, 1)
    transfer 5 (S3): node 2 -> node 0, copy [1, 2)
    transfer 6 (S4): node 1 -> node 0, copy [0, 1)
    transfer 7 (S4): node 0 -> node 1, copy [1, 2)
    """
    if ordering not in ORDERINGS:
        raise ScheduleError(f"OptCC has orderings {' and '.join(map(str, ORDERINGS))}, not {ordering}")
    return pipeline(nodes, straggler, segments, [ORDERINGS[ordering]], rails, lost_rails)


def pipeline(
    nodes: int,
    straggler: int,
    segments: int,
    patterns: Sequence[Pattern],
    rails: int | None,
    lost_rails: Collection[int],
) -> Schedule:
    """Write an allreduce of equal segments, which take turns with the patterns.

    Args:
        nodes: As for `optcc_allreduce`, like all that is not said here.
        straggler: The slow node.
        segments: K.
        patterns: For one segment after another; each set of them begins as many bodies after the one before
            as there are patterns.
        rails: g, or None.
        lost_rails: What the straggler lost.

    Raises:
        ScheduleError: An argument is out of range.
    """
    ring = healthy_ring(nodes, straggler)
    live = live_rails(straggler, rails, lost_rails)
    if segments < 1:
        raise ScheduleError(f"{segments} segments: OptCC needs at least one")
    m = len(ring)
    timetable = Timetable(nodes, grid=segments * m)
    four_stages = FourStages(timetable, ring, straggler, live)
    for k in range(segments):
        turn, place = divmod(k, len(patterns))
        four_stages.segment(patterns[place], begin=turn * len(patterns), lo=k * m, length=1)
    return timetable.build(allreduce(nodes, timetable.grid))


def healthy_ring(nodes: int, straggler: int) -> list[int]:
    """Return all nodes but the straggler, beginning with the one after it.

    Raises:
        ScheduleError: There are fewer than three nodes, or no such straggler.
    """
    if nodes < 3:
        raise ScheduleError(
            f"OptCC on {nodes} nodes: its ring needs two healthy nodes beside the straggler; use balance"
        )
    if not 0 <= straggler < nodes:
        raise ScheduleError(f"there is no node {straggler} among {nodes} nodes that could be the straggler")
    return [(straggler + 1 + place) % nodes for place in range(nodes - 1)]


def live_rails(straggler: int, rails: int | None, lost_rails: Collection[int]) -> frozenset[int] | None:
    """Return the rails that the straggler still has, None if nothing is said about rails.

    Raises:
        ScheduleError: It lost rails that do not exist, or all.
    """
    lost = frozenset(lost_rails)
    if rails is None:
        if lost:
            raise ScheduleError(f"node {straggler} lost rails {sorted(lost)}, of how many? Give rails")
        return None
    if rails < 1 or not all(0 <= rail < rails for rail in lost) or len(lost) == rails:
        raise ScheduleError(
            f"node {straggler} lost rails {sorted(lost)} of {rails}: it must keep one, and lose no others"
        )
    return frozenset(range(rails)) - lost if lost else None
