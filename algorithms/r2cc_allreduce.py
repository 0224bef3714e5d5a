"""R2CC-AllReduce: a degraded node is left out of a part of the work (paper 1, arXiv 2512.25059, figure 6).

One node lost f of its g rails, the fraction X = f/g of its bandwidth. A ring over everybody would run at the
pace of that node. So the data is cut in two: a share Y, and the rest. Figure 6 has 4 nodes and X = Y = 1/4.

Stage 1, two allreduces at once, on different rails:

- *global*: the ring over all n nodes takes the 1-Y, on the rails that the degraded node still has;
- *partial*: the ring over the n-1 healthy nodes takes the Y, on the rails that only they have.

Stage 2: the degraded node's own Y has to get in, and everybody needs the result. The healthy nodes form a
chain, in the order of the ring. For each of K pieces (*chain*, the default; derived here):

1. the degraded node gives its own data to the first node of the chain, which adds it: this is the full sum;
2. the last node of the chain gives the partial sum back to the degraded node, which adds it: full sum too
   (right because exactly one node is missing from the partial sum, and it is the one that receives it);
3. the full sum is copied down the chain.

The pieces follow each other through the chain, in both directions of the degraded node's rails. All is done
in place. The order matters: 1 reads what 2 overwrites, and 2 reads what 3 overwrites.

The authors' code has a *helper* instead: per piece, the helper (the first of the chain) adds the degraded
node's data, then broadcasts the full sum down the chain, whose last link is the degraded node. The broadcast
of a piece is cut into S sub-pieces.

Loads, counted: the degraded node sends and receives 2 (n-1)/n (1-Y) + Y of the data, the others
2 (n-1)/n (1-Y) + 2 (n-2)/(n-1) Y + Y. With many nodes that is 2 (1-Y) + Y, the 7/4 that figure 6 prints; its
four nodes make it 11/8, where the plain ring has 3/2.

Not handled here: more than one degraded node (no ring could be left on the rails all have in common), rails
that are slow instead of dead, and fewer than three nodes (the single healthy node has nobody to reduce with,
so that a second stage gains nothing): use `algorithms.balance`. Which Y and K are best is for
`analysis.planner` to say; for small K, Y = 0 is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import pairwise

from algorithms.collective import allreduce
from algorithms.columns import GRID_LIMIT
from algorithms.ring import allreduce_steps, ring_order, side_by_side
from algorithms.schedule import Region, Schedule, ScheduleBuilder, ScheduleError

FORMS = ("chain", "helper")
"""What stage 2 can look like; the first is the default."""

DEFAULT_PIECES = 4
"""K, if nobody says how many."""


def r2cc_allreduce(  # noqa: PLR0913  (what figure 6 depends on, and the form of stage 2)
    nodes: int,
    rails: int,
    degraded: int,
    lost_rails: Collection[int],
    pieces: int = DEFAULT_PIECES,
    partial: Fraction | None = None,
    *,
    form: str = "chain",
    sub_pieces: int = 1,
    order: Sequence[int] | None = None,
) -> Schedule:
    """Write R2CC-AllReduce for one degraded node.

    Args:
        nodes: n, at least 3.
        rails: g, rails of each node.
        degraded: The node that lost rails.
        lost_rails: Which it lost; at least one, and not all.
        pieces: K, into how many pieces stage 2 is cut.
        partial: Y, the share of the data that the partial allreduce takes, from 0 to 1; None: Y = f/g, the
            paper's rule.
        form: Of stage 2: "chain" or "helper".
        sub_pieces: S, into how many parts the helper's broadcast cuts a piece; 1 for the chain.
        order: The nodes in the order of the global ring; None: 0, 1, ..., n-1. The partial ring and the chain
            follow it, from the node after the degraded one on.

    Returns:
        The schedule. Each transfer names the rails it may use; `algorithms.stripes.healthy_mapping` spreads
        it over them.

    Raises:
        ScheduleError: An argument is out of range, or the pieces need too fine a grid.
    """
    ring = ring_order(nodes, order)
    lost = frozenset(lost_rails)
    _check(nodes, rails, degraded, lost)
    share = Fraction(len(lost), rails) if partial is None else Fraction(partial)
    _check_stage_2(share, pieces, form, sub_pieces)
    live = frozenset(range(rails)) - lost
    place = ring.index(degraded)
    chain = [*ring[place + 1 :], *ring[:place]]
    grid, cut = _grid_and_cut(nodes, share, pieces * sub_pieces)
    builder = ScheduleBuilder(nodes, grid)

    # Stage 1. The rings have no rail in common; an empty region has no ring.
    global_ring = allreduce_steps(builder, ring, (0, cut), rails=live, name="global")
    partial_ring = allreduce_steps(builder, chain, (cut, grid), rails=lost, name="partial")
    side_by_side(*([global_ring] if cut > 0 else []), *([partial_ring] if cut < grid else []))

    # Stage 2. Hops between healthy nodes have all rails, those of the degraded node its live ones.
    for piece in _parts((cut, grid), pieces if cut < grid else 0):
        lo, hi = piece
        builder.step(
            stage="own data in",
            source=degraded,
            target=chain[0],
            lo=lo,
            hi=hi,
            reduce=True,
            rails=live,
        )
        if form == "chain":
            builder.step(
                stage="healthy sum back",
                source=chain[-1],
                target=degraded,
                lo=lo,
                hi=hi,
                reduce=True,
                rails=live,
            )
        for sub_lo, sub_hi in _parts(piece, sub_pieces):
            builder.step(
                stage="full sum along the chain",
                source=chain[:-1],
                target=chain[1:],
                lo=sub_lo,
                hi=sub_hi,
                reduce=False,
            )
            if form == "helper":
                builder.step(
                    stage="full sum back",
                    source=chain[-1],
                    target=degraded,
                    lo=sub_lo,
                    hi=sub_hi,
                    reduce=False,
                    rails=live,
                )
    return builder.build(allreduce(nodes, grid))


def _check(nodes: int, rails: int, degraded: int, lost: frozenset[int]) -> None:
    if nodes < 3:
        raise ScheduleError(
            f"R2CC-AllReduce on {nodes} nodes: a partial allreduce needs two healthy nodes; use balance"
        )
    if not 0 <= degraded < nodes:
        raise ScheduleError(f"there is no node {degraded} among {nodes} nodes that could be degraded")
    if not lost or not all(0 <= rail < rails for rail in lost) or len(lost) == rails:
        raise ScheduleError(
            f"node {degraded} lost rails {sorted(lost)} of 0..{rails - 1}: R2CC-AllReduce needs at least one "
            "lost and one left"
        )


def _check_stage_2(share: Fraction, pieces: int, form: str, sub_pieces: int) -> None:
    if not 0 <= share <= 1:
        raise ScheduleError(f"partial share {share}: give a fraction from 0 to 1")
    if pieces < 1 or sub_pieces < 1:
        raise ScheduleError(f"{pieces} pieces of {sub_pieces} sub-pieces: need at least one of each")
    if form not in FORMS:
        raise ScheduleError(f"stage 2 has no form {form!r}: use {' or '.join(FORMS)}")
    if form == "chain" and sub_pieces != 1:
        raise ScheduleError(
            f"{sub_pieces} sub-pieces: only the helper form has them, use more pieces instead"
        )


def _grid_and_cut(nodes: int, share: Fraction, parts: int) -> tuple[int, int]:
    """Find the coarsest grid on which both rings and all parts of stage 2 are whole.

    Returns:
        The grid, and where the partial share begins on it.

    Raises:
        ScheduleError: It would be finer than grids can be.
    """
    ours, all_of_it = share.numerator, share.denominator
    rest = all_of_it - ours
    unit = math.lcm(
        nodes // math.gcd(nodes, rest),
        (nodes - 1) // math.gcd(nodes - 1, ours),
        parts // math.gcd(parts, ours),
    )
    if all_of_it * unit >= GRID_LIMIT:
        raise ScheduleError(
            f"{parts} parts of {share} of the data, {nodes} nodes: needs too fine a grid, take fewer pieces"
        )
    return all_of_it * unit, rest * unit


def _parts(region: Region, count: int) -> list[Region]:
    """Cut a region that divides into `count` equal parts."""
    low, high = region
    bounds = range(low, high + 1, (high - low) // count) if count else range(0)
    return list(pairwise(bounds))
