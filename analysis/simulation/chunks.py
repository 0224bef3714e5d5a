"""Stripes cut into chunks, as the executor sends them: parts of a stripe that follow each other.

What waits for a hazard then waits for the chunks it overlaps with, not for whole stripes, and what a failure
costs is a few chunks.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from algorithms.columns import GRID_LIMIT
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError
from analysis.errors import ModelError


def chunked(stripes: Stripes, chunk: Fraction) -> Stripes:
    """Cut every stripe into chunks; the last one of a stripe may be smaller.

    Args:
        stripes: The mapped schedule.
        chunk: Size of a chunk, in D.

    Returns:
        Stripes of the same transfers, in the same channels; those of one channel follow each other.

    Raises:
        ModelError: The size is not above zero.
        ScheduleError: The chunks need too fine a grid.
    """
    if chunk <= 0:
        raise ModelError(f"chunk = {chunk}: give a part of the data above zero")
    finer = (chunk * stripes.grid).denominator
    grid = stripes.grid * finer
    if grid >= GRID_LIMIT:
        raise ScheduleError(f"chunks of {chunk} of the data need a grid of {grid} (limit {GRID_LIMIT})")
    size = int(chunk * grid)
    source_lo, target_lo = stripes.source_lo * finer, stripes.target_lo * finer
    lengths = (stripes.source_hi - stripes.source_lo) * finer
    counts = -(-lengths // size)
    row = np.repeat(np.arange(len(stripes), dtype=np.int32), counts)
    first = np.cumsum(counts, dtype=np.int32) - counts
    number = np.arange(len(row), dtype=np.int32) - first[row]
    begin = number * np.int32(size)
    end = np.minimum(begin.astype(np.int64) + size, lengths[row]).astype(np.int32)
    return replace(
        stripes,
        grid=grid,
        transfer=stripes.transfer[row],
        source_lo=source_lo[row] + begin,
        source_hi=source_lo[row] + end,
        target_lo=target_lo[row] + begin,
        target_hi=target_lo[row] + end,
        home=stripes.home[row],
        route=stripes.route[row],
    )


def nearly_chunked(stripes: Stripes, chunk: Fraction) -> Stripes:
    """Cut every stripe into chunks of a size, or nearly so where the grid of that would be too fine.

    Args:
        stripes: The mapped schedule.
        chunk: Size of a chunk, in D. What is taken instead is the next smaller number of whole atoms, at
            least one.

    Raises:
        ModelError: The size is not above zero.
    """
    try:
        return chunked(stripes, chunk)
    except ScheduleError:
        return chunked(stripes, Fraction(max(1, int(chunk * stripes.grid)), stripes.grid))
