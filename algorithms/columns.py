"""How a schedule is stored: equally long NumPy columns, and the integer grid they count in.

Two million transfers (a ring allreduce on 1024 nodes) take 70 MB and tenths of a second this way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import overload

import numpy as np
from numpy.typing import NDArray

from algorithms.transfer import ScheduleError

IntColumn = NDArray[np.int32]

GRID_LIMIT = 2**31 - 1
"""Grids are smaller than this, so that every boundary fits the columns."""


@overload
def element(boundary: int, count: int, grid: int) -> int: ...
@overload
def element(boundary: NDArray[np.integer], count: int, grid: int) -> NDArray[np.int64]: ...
def element(boundary: int | NDArray[np.integer], count: int, grid: int) -> int | NDArray[np.int64]:
    """Lower a grid boundary to an element index: `boundary * count // grid`, without overflow.

    Rounding each boundary once lets any number of elements be cut by any grid, also fewer elements than the
    grid has atoms: regions that touch on the grid touch in the array. Two regions of equal length on the grid
    may differ by an element, so a transfer that writes another region than it reads needs a count that the
    grid divides.

    Args:
        boundary: One boundary, or an array of them (such as a column), in 0..grid.
        count: Elements in the whole buffer.
        grid: Atoms of the grid.

    Returns:
        The element index, or the int64 array of them.

    >>> [element(boundary, 10, 4) for boundary in range(5)]
    [0, 2, 5, 7, 10]
    """
    whole, rest = divmod(count, grid)
    wide = boundary.astype(np.int64) if isinstance(boundary, np.ndarray) else boundary
    return wide * whole + wide * rest // grid


def compress(keys: NDArray[np.integer], limit: int) -> tuple[list[int], IntColumn]:
    """Number the distinct keys; like `numpy.unique`, but faster as it need not sort.

    Args:
        keys: Integers in 0..limit-1.
        limit: Bounds the memory used, about 5 bytes per possible key.

    Returns:
        The distinct keys, ascending, and for each key its position in that list.
    """
    present = np.zeros(limit, np.bool_)
    present[keys] = True
    number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(present).tolist(), number[keys]


def clipped(values: NDArray[np.integer]) -> IntColumn:
    """Convert to int32; a value that does not fit stays outside every grid instead of wrapping into it."""
    limits = np.iinfo(np.int32)
    column: IntColumn = np.clip(values, limits.min, limits.max).astype(np.int32)
    return column


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The transfers of a schedule in program order: read-only int32 arrays, `reduce` bool.

    `stage` and `rails` are indices into the schedule's tables `stages` and `rail_sets`.
    """

    source: IntColumn
    target: IntColumn
    source_lo: IntColumn
    source_hi: IntColumn
    target_lo: IntColumn
    target_hi: IntColumn
    reduce: NDArray[np.bool_]
    stage: IntColumn
    rails: IntColumn

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ScheduleError(f"the columns of a schedule must be equally long, not {lengths}")
        for name in lengths:
            getattr(self, name).setflags(write=False)

    def first_fault(self, nodes: int, grid: int) -> tuple[int, str] | None:
        """Find the first malformed row.

        Returns:
            Its index and what is wrong with it; None if all rows are well formed.
        """
        source, target, source_lo, source_hi = self.source, self.target, self.source_lo, self.source_hi
        target_lo, target_hi = self.target_lo, self.target_hi
        faults = {
            f"a node outside 0..{nodes - 1}": (
                (source < 0) | (source >= nodes) | (target < 0) | (target >= nodes)
            ),
            "the same source and target": source == target,
            "an empty region": (source_lo >= source_hi) | (target_lo >= target_hi),
            f"a region outside the grid [0, {grid})": (
                (source_lo < 0) | (source_hi > grid) | (target_lo < 0) | (target_hi > grid)
            ),
            "regions of different lengths": source_hi - source_lo != target_hi - target_lo,
        }
        found = [(int(np.argmax(rows)), fault) for fault, rows in faults.items() if rows.any()]
        return min(found, key=lambda row_and_fault: row_and_fault[0]) if found else None
