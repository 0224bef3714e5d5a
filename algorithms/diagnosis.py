"""Which transfer destroyed a contribution: lets the oracle point at the cause, not only at the effect.

A copy where a reduction was meant is legal when it happens; the damage shows only at the end, at nodes that
the copied data reached later. Looking at one cell alone, it is cheap to find the moment of the loss.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np

from algorithms.schedule import Schedule
from algorithms.symbolic import mask_of
from algorithms.transfer import Region, Transfer


def first_loss(schedule: Schedule, region: Region, missing: int) -> Transfer | None:
    """Find the transfer after which no node holds some missing contribution to a region any more.

    Args:
        schedule: One whose symbolic execution ran through.
        region: A single cell of that execution.
        missing: Contributors to look for, as the bits of an integer.

    Returns:
        The transfer; None if nothing was lost (it was only not passed on), or if data moves between regions,
        which is not followed here.
    """
    columns = schedule.columns
    if (columns.source_lo != columns.target_lo).any():
        return None
    low, high = region
    held = [0] * schedule.nodes  # per node the contributors in this cell, as in algorithms.symbolic
    for holding in schedule.collective.precondition:
        if holding.region[0] <= low and high <= holding.region[1]:
            held[holding.node] = mask_of(holding.contributors)
    for index in np.flatnonzero((columns.source_lo <= low) & (high <= columns.source_hi)).tolist():
        source, target = int(columns.source[index]), int(columns.target[index])
        if columns.reduce[index]:
            held[target] |= held[source]
            continue
        endangered = held[target] & ~held[source] & missing
        held[target] = held[source]
        if endangered & ~reduce(or_, held):
            return schedule[index]
    return None
