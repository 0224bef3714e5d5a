"""OptCC's overlay: four patterns laid over each other, so that the belt fills in half a body (paper 2).

In the simple form of OptCC (`algorithms.optcc`) the straggler waits until the first segment has been through
S1, and the last segment leaves it long before the end. Here four segments begin nearly together:

- A and C go by ordering 1 (S1 S2 S3 S4) and meet the straggler's receiving side first,
- B and D go by ordering 2 (S3 S1 S4 S2) and meet its sending side first.

C and D follow one body behind A and B. The straggler sends in the order B, D, A, C, a body for each, and
receives in the order A, C, B, D, half a body later, when A has been through S1:

    body       0    .5   1    1.5  2    2.5  3    3.5  4    4.5
    sends      | B       | D       | A       | C       | B' ...
    receives        | A       | C       | B       | D       | A' ...

So it is busy in both directions from the first half body to the last. With planned rail shares
(`algorithms.optcc_mapping`) and list-scheduled (`algorithms.list_schedule`) the time is near (K + 1/2)/K
times max(l, (2p-3)/(p-1)), mostly within the (K+1)/K that the paper is said to state, and within (K + 4/3)/K
for all p <= 16 and K <= 32 that were tried. As it is written, without list scheduling, it loses a little more
with every segment: within (K+2)/K for K = 8, (K + 9/4)/K for 16, (K + 25/8)/K for 32. All that is for pairs
of ports; on real ranks, whose ports queue, the order as it is written is the better one (docs/algorithms.md).

Not handled here: what `algorithms.optcc` does not handle either. The last set of patterns is not complete
where K is no multiple of 4, which costs half a body more.
"""

from __future__ import annotations

from collections.abc import Collection

from algorithms.four_stages import Pattern, Slope
from algorithms.optcc import pipeline
from algorithms.schedule import Schedule

PATTERNS = (
    Pattern(1, receive=4, send=16, reduce_scatter=Slope(-10, 12, 9), all_gather=Slope(26, 11, 5)),
    Pattern(2, receive=20, send=0, reduce_scatter=Slope(6, 5, 5), all_gather=Slope(15, 9, 2)),
    Pattern(1, receive=12, send=24, reduce_scatter=Slope(-1, 12, 9), all_gather=Slope(33, 11, 5)),
    Pattern(2, receive=28, send=8, reduce_scatter=Slope(14, 5, 5), all_gather=Slope(24, 9, 2)),
)
"""A, B, C and D. The straggler's times are the paper's, those of the ring were found by a search over
simulations (derived here)."""


def optcc_overlay(
    nodes: int,
    straggler: int,
    segments: int = 8,
    rails: int | None = None,
    lost_rails: Collection[int] = (),
) -> Schedule:
    """Write OptCC's overlay of four patterns.

    Args:
        nodes: p, at least 3.
        straggler: The slow node.
        segments: K, how many parts follow each other; at least 1.
        rails: g, rails of each node; None: the straggler's transfers may use whatever it has.
        lost_rails: Which of them the straggler lost; not all.

    Returns:
        The schedule. Its stages are labelled "S1" to "S4".

    Raises:
        ScheduleError: An argument is out of range.
    """
    return pipeline(nodes, straggler, segments, PATTERNS, rails, lost_rails)
