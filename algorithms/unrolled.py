"""Unrolled stripes: each stripe of a schedule as a transfer of its own, in any order one likes.

A transfer has one place in program order, and with it all its stripes. Whoever wants to move the stripes of
one rail past those of another one has to unroll them first (`algorithms.list_schedule`).

Not handled here: whether the new order means the same (`algorithms.verify`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from algorithms.collective import Collective, Holding
from algorithms.columns import Columns
from algorithms.schedule import Schedule
from algorithms.stripes import Stripes


def unrolled(stripes: Stripes, order: Sequence[int]) -> Stripes:
    """Make every stripe a transfer of its own, which may use the stripe's home rail only.

    Args:
        stripes: A mapped schedule.
        order: The indices of all stripes, in the program order that they are to have.

    Returns:
        The same stripes in this order, as the mapping of a new schedule, whose grid is that of the stripes.
    """
    rows = np.array(order, np.int64)
    of_transfer = stripes.transfer[rows]
    old = stripes.schedule.columns
    columns = Columns(
        source=old.source[of_transfer],
        target=old.target[of_transfer],
        source_lo=stripes.source_lo[rows],
        source_hi=stripes.source_hi[rows],
        target_lo=stripes.target_lo[rows],
        target_hi=stripes.target_hi[rows],
        reduce=old.reduce[of_transfer],
        stage=old.stage[of_transfer],
        rails=stripes.home[rows],
    )
    schedule = Schedule(
        nodes=stripes.schedule.nodes,
        grid=stripes.grid,
        collective=_on_finer_grid(stripes.schedule.collective, stripes.grid // stripes.schedule.grid),
        columns=columns,
        stages=stripes.schedule.stages,
        rail_sets=tuple(frozenset({rail}) for rail in range(stripes.rails)),
    )
    return replace(
        stripes,
        schedule=schedule,
        transfer=np.arange(len(rows), dtype=np.int32),
        source_lo=columns.source_lo,
        source_hi=columns.source_hi,
        target_lo=columns.target_lo,
        target_hi=columns.target_hi,
        home=columns.rails,
        route=stripes.route[rows],
    )


def _on_finer_grid(collective: Collective, scale: int) -> Collective:
    """Say the same of a grid whose atoms are so many times smaller."""

    def scaled(holdings: tuple[Holding, ...]) -> tuple[Holding, ...]:
        return tuple(one._replace(region=(one.region[0] * scale, one.region[1] * scale)) for one in holdings)

    return Collective(collective.name, scaled(collective.precondition), scaled(collective.postcondition))
