"""Cutting transfers into stripes by shares: what of a hop travels in which channel, over which route.

Whoever knows how a hop's traffic is to be spread over the rails says it in `Share`s; `stripes_by_shares` cuts
all transfers of the hop in these proportions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import GRID_LIMIT
from algorithms.nic import Route
from algorithms.schedule import Schedule
from algorithms.stripes import Stripes, allowed_rails


class Share(NamedTuple):
    """What of a hop travels in the channel of rail `home`, over `route`: `weight` parts of the whole."""

    home: int
    route: Route
    weight: int


class HopKind(NamedTuple):
    """What decides how a transfer is shared out: its ends, and the rails that it may use, ascending."""

    source: int
    target: int
    allowed: tuple[int, ...]


def hop_kinds(schedule: Schedule, rails: int) -> tuple[list[HopKind], NDArray[np.int64]]:
    """List the kinds of hops in a schedule.

    Args:
        schedule: Any.
        rails: g, the number of rails.

    Returns:
        The kinds, and for each transfer the position of its own.

    Raises:
        ScheduleError: A transfer asks for a rail that does not exist.
    """
    columns, allowed = schedule.columns, allowed_rails(schedule, rails)
    key = (columns.source.astype(np.int64) * schedule.nodes + columns.target) * len(allowed) + columns.rails
    keys, kind = np.unique(key, return_inverse=True)
    kinds = []
    for one in keys.tolist():
        ends, rail_set = divmod(one, len(allowed))
        source, target = divmod(ends, schedule.nodes)
        kinds.append(HopKind(source, target, tuple(allowed[rail_set])))
    return kinds, kind.astype(np.int64)


def stripes_by_shares(
    schedule: Schedule, rails: int, shares_of: Callable[[HopKind], Sequence[Share]]
) -> Stripes:
    """Cut every transfer in the proportions of its hop.

    Shares are exact on a refined grid while that stays below `GRID_LIMIT`. Beyond, the boundaries between
    stripes are rounded to the finest grid there is, so that each share is off by less than one step of it.

    Args:
        schedule: What to cut.
        rails: g, the number of rails.
        shares_of: Asked once for each kind of hop that occurs.

    Returns:
        The stripes, those of one transfer in the order of the shares.

    Raises:
        ScheduleError: A transfer asks for a rail that does not exist.
    """
    columns = schedule.columns
    hops, hop = hop_kinds(schedule, rails)
    shares = [shares_of(one) for one in hops]
    # Transfers of one hop and one length are cut alike; there are few such cuts.
    span = schedule.grid + 1
    cut_keys, cut = np.unique(hop * span + (columns.source_hi - columns.source_lo), return_inverse=True)
    cuts = [(shares[key // span], key % span) for key in cut_keys.tolist()]
    refinement = _refinement(cuts, schedule.grid)

    # The stripes of every cut, one after the other: home, route, and where it begins and ends.
    routes: dict[Route, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    first_row = [0]
    for of_hop, length in cuts:
        ends_at = list(accumulate((share.weight for share in of_hop), initial=0))
        for share, (low, high) in zip(of_hop, pairwise(ends_at), strict=True):
            begin, end = (length * refinement * at // ends_at[-1] for at in (low, high))
            if begin < end:
                rows.append((share.home, routes.setdefault(share.route, len(routes)), begin, end))
        first_row.append(len(rows))

    home, route, begin_of, end_of = np.array(rows, np.int32).reshape(-1, 4).T
    start = np.array(first_row, np.int32)
    counts = (start[1:] - start[:-1])[cut]
    transfer = np.repeat(np.arange(len(schedule), dtype=np.int32), counts)
    row = np.arange(len(transfer), dtype=np.int32)
    row += (start[:-1][cut] - (np.cumsum(counts, dtype=np.int32) - counts))[transfer]
    source_lo, target_lo = ((lo * refinement)[transfer] for lo in (columns.source_lo, columns.target_lo))
    return Stripes(
        schedule=schedule,
        rails=rails,
        grid=schedule.grid * refinement,
        transfer=transfer,
        source_lo=source_lo + begin_of[row],
        source_hi=source_lo + end_of[row],
        target_lo=target_lo + begin_of[row],
        target_hi=target_lo + end_of[row],
        home=home[row],
        route=route[row],
        routes=tuple(routes),
    )


def whole_weights(parts: Sequence[int]) -> list[int]:
    """Divide whole parts by what they have in common."""
    common = math.gcd(*parts)
    return [part // common for part in parts]


def _refinement(cuts: Collection[tuple[Sequence[Share], int]], grid: int) -> int:
    """Say into how many parts an atom of the grid must be cut for exact shares, at most as many as can be."""
    finest = (GRID_LIMIT - 1) // grid
    refinement = 1
    for shares, length in cuts:
        parts = sum(share.weight for share in shares)
        refinement = math.lcm(refinement, parts // math.gcd(parts, length))
        if refinement > finest:
            return finest
    return refinement
