"""Symbolic execution of a schedule: who holds whose contributions, and nothing else.

The buffer is cut into *cells*, pieces that every transfer moves as a whole. What a node holds in a cell is a
set of contributors, kept as the bits of a Python integer (bit i: the input of node i is in it); 0 means no
defined content. Transfers run one at a time in program order, which is the meaning of a schedule.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from algorithms.schedule import Schedule
from algorithms.transfer import Region, ScheduleError, Transfer


def mask_of(contributors: Iterable[int]) -> int:
    """Write a set of contributors as the bits of an integer."""
    return sum(1 << contributor for contributor in contributors)


def contributors_text(mask: int, limit: int = 8) -> str:
    """Name the contributors in a mask, for an error message: the first `limit` of them and how many more."""
    found = [node for node in range(mask.bit_length()) if mask >> node & 1]
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(map(str, found[:limit])) + more if found else "nobody"


class Execution:
    """The state of all nodes' buffers while a schedule runs.

    Args:
        schedule: What to run; starts from the precondition of its collective.

    Attributes:
        held: held[node][cell] is the set of contributors (see `mask_of`).
        displaced: For cells whose content belongs elsewhere: (node, cell) -> cells by which it lies too low.
        steps: Length of the longest chain of transfers in which each one touches what the one before wrote:
            the number of messages that must follow one another however fast the network.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._in_place = bool((schedule.columns.source_lo == schedule.columns.target_lo).all())
        self._boundaries = self._cut()
        self.held = [[0] * (len(self._boundaries) - 1) for _ in range(schedule.nodes)]
        self.displaced: dict[tuple[int, int], int] = {}
        self.steps = 0
        for holding in schedule.collective.precondition:
            cells = self.cells(holding.region)
            self.held[holding.node][cells.start : cells.stop] = [mask_of(holding.contributors)] * len(cells)

    def cells(self, region: Region) -> range:
        """List the cells of a region that a transfer or a holding speaks of."""
        first, last = np.searchsorted(self._boundaries, region).tolist()
        return range(first, last)

    def region(self, cell: int) -> Region:
        """Return where a cell lies on the grid."""
        return int(self._boundaries[cell]), int(self._boundaries[cell + 1])

    def run(self) -> None:
        """Execute all transfers.

        Raises:
            ScheduleError: A transfer reads a cell without defined content, adds a contribution that is
                already in, or adds up data of different regions. Names the first such transfer.
        """
        held = self.held
        written_in_step = [[0] * len(cells) for cells in held]
        for index, (source, target, first, last, shift, reduce) in enumerate(self._rows()):
            theirs, ours = held[source], held[target]
            their_step, our_step = written_in_step[source], written_in_step[target]
            for cell in range(first, last):
                place = cell + shift
                brought, present = theirs[cell], ours[place]
                if not brought:
                    raise self._fault(index, "reads what was never defined", source, cell)
                if reduce:
                    if not present:
                        raise self._fault(index, "adds to what was never defined", target, place)
                    if brought & present:
                        twice = contributors_text(brought & present)
                        raise self._fault(
                            index, f"has contributions counted twice, of nodes {twice}", target, place
                        )
                    brought |= present
                ours[place] = brought
                step = max(their_step[cell], our_step[place]) + 1
                our_step[place] = step
                self.steps = max(self.steps, step)
            if not self._in_place:
                self._track_displacement(index, source, target, range(first, last), shift, reduce=reduce)

    def last_writer(self, node: int, cell: int) -> Transfer | None:
        """Return the last transfer that writes a cell of a node, None if none does."""
        low, high = self.region(cell)
        columns = self.schedule.columns
        writers = np.flatnonzero(
            (columns.target == node) & (columns.target_lo <= low) & (high <= columns.target_hi)
        )
        return self.schedule[int(writers[-1])] if len(writers) else None

    def _cut(self) -> NDArray[np.int64]:
        """Return the boundaries of the cells, from 0 to the grid."""
        columns, collective = self.schedule.columns, self.schedule.collective
        mentioned = {0, self.schedule.grid}
        for holding in (*collective.precondition, *collective.postcondition):
            mentioned.update(holding.region)
        for column in (columns.source_lo, columns.source_hi, columns.target_lo, columns.target_hi):
            mentioned.update(np.unique(column).tolist())
        boundaries = np.array(sorted(mentioned), np.int64)
        if self._in_place:
            return boundaries
        # Data that moves to another region needs the same cells there: take equal ones everywhere.
        return np.arange(0, self.schedule.grid + 1, np.gcd.reduce(boundaries))

    def _rows(self) -> Iterable[tuple[int, int, int, int, int, bool]]:
        """Return source, target, first cell, cell after the last, shift to the target's cells, reduce."""
        columns = self.schedule.columns
        first = np.searchsorted(self._boundaries, columns.source_lo)
        last = np.searchsorted(self._boundaries, columns.source_hi)
        shift = np.searchsorted(self._boundaries, columns.target_lo) - first
        rows = (columns.source, columns.target, first, last, shift, columns.reduce)
        return zip(*(row.tolist() for row in rows), strict=True)

    def _track_displacement(
        self, index: int, source: int, target: int, cells: range, shift: int, *, reduce: bool
    ) -> None:
        for cell in cells:
            brought = self.displaced.get((source, cell), 0) - shift
            if reduce and brought != self.displaced.get((target, cell + shift), 0):
                raise self._fault(index, "adds up data of two different regions", target, cell + shift)
            self.displaced[target, cell + shift] = brought

    def _fault(self, index: int, what: str, node: int, cell: int) -> ScheduleError:
        low, high = self.region(cell)
        return ScheduleError(f"{self.schedule[index]}: {what}, at node {node} region [{low}, {high})")
