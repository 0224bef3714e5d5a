"""A timetable: transfers with the time at which each is to begin. Sorted by it they make a schedule.

For algorithms that keep many parts of the data on their way at once. Ports serve the lowest program index
first, so the program order decides what waits for what; and writing part after part would make a port wait
for a part that is not there yet, instead of sending another one that is. So each part is planned by itself,
and all of them are put in the order of their planned times.

The plan need not be kept by anybody: a port that is free takes the next transfer that may go.

Not handled here: whether the times make sense. In particular the transfers that one part's data needs in turn
must have growing times (`algorithms.verify` finds those that have not).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms.collective import Collective
from algorithms.columns import Columns, clipped
from algorithms.schedule import Schedule


class Timetable:
    """Collects transfers in any order and makes a `Schedule` of them in the order of their times.

    Args:
        nodes: Number of nodes.
        grid: Number of atoms that regions are made of.
    """

    def __init__(self, nodes: int, grid: int) -> None:
        self.nodes = nodes
        self.grid = grid
        self._stages: dict[str, int] = {}
        self._rail_sets: dict[frozenset[int] | None, int] = {None: 0}
        self._parts: list[NDArray[np.int64]] = []

    def add(
        self,
        *,
        at: ArrayLike,
        stage: str,
        source: ArrayLike,
        target: ArrayLike,
        lo: ArrayLike,
        hi: ArrayLike,
        reduce: bool,
        rails: Collection[int] | None = None,
    ) -> None:
        """Add transfers in place, each from region [lo, hi) of its source to the same region of its target.

        Args:
            at: When each is to begin, in any unit of whole numbers. Like all arrays here: an int (the same
            for
                all transfers) or an array with one entry per transfer. Of equal times the one added first
                goes first.
            stage: Label of the algorithm's stage.
            source: Sending node.
            target: Receiving node.
            lo: Where the region begins, in grid units.
            hi: Where it ends.
            reduce: Whether the targets combine it with what they hold, or replace that.
            rails: The rails that may carry it; None means all.
        """
        rail_set = None if rails is None else frozenset(rails)
        label = self._stages.setdefault(stage, len(self._stages))
        allowed = self._rail_sets.setdefault(rail_set, len(self._rail_sets))
        rows = np.broadcast_arrays(*np.atleast_1d(at, source, target, lo, hi, int(reduce), label, allowed))
        self._parts.append(np.stack(rows).astype(np.int64))

    def build(self, collective: Collective) -> Schedule:
        """Make the schedule, for `collective`.

        Raises:
            ScheduleError: See `Schedule`; names the first malformed transfer.
        """
        rows = np.concatenate([np.empty((8, 0), np.int64), *self._parts], axis=1)
        rows = rows[:, np.argsort(rows[0], kind="stable")]
        source, target, low, high, reduce, stage, rails = (clipped(row) for row in rows[1:])
        columns = Columns(
            source=source,
            target=target,
            source_lo=low,
            source_hi=high,
            target_lo=low.copy(),
            target_hi=high.copy(),
            reduce=reduce.astype(np.bool_),
            stage=stage,
            rails=rails,
        )
        return Schedule(
            self.nodes, self.grid, collective, columns, tuple(self._stages), tuple(self._rail_sets)
        )
