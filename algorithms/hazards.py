"""Hazards: which accesses to one memory must come after which earlier ones.

Program order is the meaning of a schedule; concurrency is allowed as far as accesses that overlap and of
which one writes keep their order: read after write, write after write, write after read. This module lists
the direct dependencies that guarantee it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Indices = NDArray[np.int64]


def dependencies(lo: ArrayLike, hi: ArrayLike, writes: ArrayLike) -> tuple[Indices, Indices]:
    """List, for each operation on one memory, the earlier operations it has to wait for.

    The operations are given in program order; each touches one region and either only reads it or writes it
    (and may read it as well). On every place it touches, an operation waits for the last earlier writer; one
    that writes waits also for all readers since that writer. Older ones need not be listed: those just named
    wait for them.

    Args:
        lo: Where the region of each operation begins: integers, shape (operations,).
        hi: Where it ends (exclusive). Equal to `lo` for an operation that touches nothing.
        writes: Whether it writes: bool, shape (operations,).

    Returns:
        (indptr, indices), int64: operation i waits for indices[indptr[i]:indptr[i+1]], ascending, each once.

    Raises:
        ValueError: The arrays differ in length, or a region ends before it begins.
    """
    low, high, is_writer = np.asarray(lo, np.int64), np.asarray(hi, np.int64), np.asarray(writes, np.bool_)
    if not low.shape == high.shape == is_writer.shape or low.ndim != 1:
        raise ValueError(f"need three arrays of one length, not {low.shape}, {high.shape}, {is_writer.shape}")
    if (low > high).any():
        operation = int(np.argmax(low > high))
        region = f"[{low[operation]}, {high[operation]})"
        raise ValueError(f"operation {operation}: region {region} ends before it begins")

    who, first_of_cell = _accesses(low, high)
    writing = is_writer[who]
    here = np.arange(len(who))
    cell_begin = np.maximum.accumulate(np.where(first_of_cell, here, 0))

    # Position + 1 of the last writing access before each access; not above cell_begin: none in this cell.
    last_writer = np.zeros(len(who), np.int64)
    last_writer[1:] = np.maximum.accumulate(np.where(writing, here + 1, 0))[:-1]
    after_write = np.nonzero(last_writer > cell_begin)[0]

    # Position of the next writing access; len(who) says: none.
    next_writer = np.full(len(who), len(who), np.int64)
    next_writer[:-1] = np.minimum.accumulate(np.where(writing, here, len(who))[::-1])[::-1][1:]
    read = np.nonzero(~writing & (next_writer < len(who)))[0]
    read = read[cell_begin[next_writer[read]] == cell_begin[read]]

    waiting = np.concatenate([who[after_write], who[next_writer[read]]])
    awaited = np.concatenate([who[last_writer[after_write] - 1], who[read]])
    return _rows(waiting, awaited, len(low))


def _accesses(low: Indices, high: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Break the operations up into accesses to cells, the pieces between any two neighbouring boundaries.

    Returns:
        The operation of each access, sorted by cell and within a cell by program order, and whether the
        access is the first one to its cell.
    """
    boundaries = np.unique(np.concatenate([low, high]))
    first_cell = np.searchsorted(boundaries, low)
    cells_of = np.searchsorted(boundaries, high) - first_cell
    who = np.repeat(np.arange(len(low)), cells_of)
    cell = np.arange(len(who)) - np.repeat(np.cumsum(cells_of) - cells_of - first_cell, cells_of)
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    first = np.ones(len(cell), np.bool_)
    first[1:] = cell[1:] != cell[:-1]
    return who[order], first


def _rows(row: Indices, column: Indices, size: int) -> tuple[Indices, Indices]:
    """Turn pairs into compressed rows without duplicates."""
    pairs = np.unique(row * size + column)
    counts = np.bincount(pairs // max(size, 1), minlength=size)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), pairs % max(size, 1)
