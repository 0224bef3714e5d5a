"""A schedule: transfers in program order. Also the builder that algorithms write it with.

Meaning: execute the list one transfer at a time, in order. Whoever runs transfers concurrently must make
accesses to overlapping regions of a node's buffer come out as in that order (see `algorithms.hazards`).

Not handled here: whether the transfers compute the right thing (`algorithms.verify`) and over which rail each
one goes (`algorithms.stripes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms.collective import Collective
from algorithms.columns import GRID_LIMIT, Columns, IntColumn, clipped, element
from algorithms.transfer import Region, ScheduleError, Transfer

__all__ = ["Columns", "Region", "Schedule", "ScheduleBuilder", "ScheduleError", "Transfer", "element"]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Transfers in program order, for one collective. Well formed by construction.

    `len(schedule)`, `schedule[index]` and iteration present the rows of `columns` as `Transfer` objects.

    Attributes:
        nodes: Number of nodes.
        grid: Number of atoms that regions are made of; the whole buffer is [0, grid).
        collective: What the schedule is to achieve.
        columns: The transfers.
        stages: Table of stage labels.
        rail_sets: Table of sets of rails; entry 0 is None, "all rails".

    Raises:
        ScheduleError: A transfer has an empty region, one outside the grid, regions of different lengths, a
            node out of range, or the same source and target; or the collective speaks of nodes or regions
            that do not exist.
    """

    nodes: int
    grid: int
    collective: Collective
    columns: Columns
    stages: tuple[str, ...]
    rail_sets: tuple[frozenset[int] | None, ...] = (None,)

    def __post_init__(self) -> None:
        if self.nodes < 1 or not 1 <= self.grid < GRID_LIMIT:
            raise ScheduleError(
                f"{self.nodes} nodes, grid {self.grid}: need at least one, and a grid below {GRID_LIMIT}"
            )
        if fault := self.columns.first_fault(self.nodes, self.grid):
            raise ScheduleError(f"{self._row(fault[0], ordinal=0)}: has {fault[1]}")
        self._check_collective()

    def __len__(self) -> int:
        return len(self.columns.source)

    def __getitem__(self, index: int) -> Transfer:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no transfer {index} in a schedule of {len(self)}")
        row = index % len(self)
        return self._row(row, int(self.ordinals[row]))

    def __iter__(self) -> Iterator[Transfer]:
        return (self[index] for index in range(len(self)))

    @cached_property
    def ordinals(self) -> IntColumn:
        """Column of the match keys: how many earlier transfers have the same source and target."""
        pair = self.columns.source.astype(np.int64) * self.nodes + self.columns.target
        order = np.argsort(pair, kind="stable")
        rows = np.arange(len(self))
        same_pair_as_before = np.zeros(len(self), bool)
        same_pair_as_before[1:] = pair[order[1:]] == pair[order[:-1]]
        first_of_pair = np.maximum.accumulate(np.where(same_pair_as_before, 0, rows))
        ordinals = np.empty(len(self), np.int32)
        ordinals[order] = rows - first_of_pair
        ordinals.setflags(write=False)
        return ordinals

    def loads(self) -> list[tuple[Fraction, Fraction]]:
        """Count what each node sends and receives.

        Returns:
            Per node (sent, received), in units of the data: the whole grid is 1.
        """
        lengths = self.columns.source_hi.astype(np.int64) - self.columns.source_lo
        sent = np.zeros(self.nodes, np.int64)
        received = np.zeros(self.nodes, np.int64)
        np.add.at(sent, self.columns.source, lengths)
        np.add.at(received, self.columns.target, lengths)
        return [
            (Fraction(out, self.grid), Fraction(into, self.grid))
            for out, into in zip(sent.tolist(), received.tolist(), strict=True)
        ]

    def _row(self, row: int, ordinal: int) -> Transfer:
        columns = self.columns
        return Transfer(
            index=row,
            source=int(columns.source[row]),
            target=int(columns.target[row]),
            source_region=(int(columns.source_lo[row]), int(columns.source_hi[row])),
            target_region=(int(columns.target_lo[row]), int(columns.target_hi[row])),
            reduce=bool(columns.reduce[row]),
            stage=self.stages[columns.stage[row]],
            rails=self.rail_sets[columns.rails[row]],
            ordinal=ordinal,
        )

    def _check_collective(self) -> None:
        everybody = frozenset(range(self.nodes))
        for holding in (*self.collective.precondition, *self.collective.postcondition):
            low, high = holding.region
            known = holding.node in everybody and holding.contributors <= everybody
            if not known or not 0 <= low < high <= self.grid:
                raise ScheduleError(
                    f"{self.collective.name} speaks of node {holding.node}, region [{low}, {high}), "
                    f"contributions {sorted(holding.contributors)}: "
                    f"not all of it exists among {self.nodes} nodes on a grid of {self.grid}"
                )


class ScheduleBuilder:
    """Collects the steps of an algorithm and makes a `Schedule` of them.

    Args:
        nodes: Number of nodes.
        grid: Number of atoms that regions are made of.
    """

    def __init__(self, nodes: int, grid: int) -> None:
        self.nodes = nodes
        self.grid = grid
        self._stages: dict[str, int] = {}
        self._rail_sets: dict[frozenset[int] | None, int] = {None: 0}
        self._steps: list[tuple[NDArray[np.int32 | np.bool_], ...]] = []

    def step(
        self,
        *,
        stage: str,
        source: ArrayLike,
        target: ArrayLike,
        lo: ArrayLike,
        hi: ArrayLike,
        reduce: ArrayLike,
        rails: Iterable[int] | None = None,
        target_lo: ArrayLike | None = None,
    ) -> None:
        """Append the transfers of one step, in the order of the arrays.

        Args:
            stage: Label of the algorithm's stage.
            source: Sending node of each transfer. Like all that follow: an int (the same for the whole step)
                or an array with one entry per transfer.
            target: Receiving node.
            lo: Where the region read at the source begins, in grid units.
            hi: Where it ends.
            reduce: True: the target combines it with what it holds. False: it replaces that.
            rails: The rails that may carry the step; None means all.
            target_lo: Where the region written at the target begins, which is as long as the one read;
                default `lo`, in place.

        Raises:
            ScheduleError: The arrays differ in length, are not integers, or the set of rails is empty.
        """
        rail_set = None if rails is None else frozenset(rails)
        if rail_set is not None and (not rail_set or min(rail_set) < 0):
            raise ScheduleError(f"stage {stage!r}: {sorted(rail_set)} is no set of rails; None means all")
        begin = lo if target_lo is None else target_lo
        given = [np.atleast_1d(values) for values in (source, target, lo, hi, begin, reduce)]
        try:
            sources, targets, low, high, target_low, reduces = np.broadcast_arrays(*given)
        except ValueError:
            lengths = [values.size for values in given]
            raise ScheduleError(f"stage {stage!r}: a step was given arrays of lengths {lengths}") from None
        if sources.size == 0:
            return
        if sources.ndim != 1 or any(values.dtype.kind not in "iu" for values in given[:-1]):
            raise ScheduleError(f"stage {stage!r}: a step takes integers or one-dimensional arrays of them")
        numbers = (sources, targets, low, high, target_low, target_low + (high - low))
        self._steps.append(
            (
                *(clipped(values) for values in numbers),
                reduces.astype(np.bool_),
                np.full(sources.shape, self._stages.setdefault(stage, len(self._stages)), np.int32),
                np.full(sources.shape, self._rail_sets.setdefault(rail_set, len(self._rail_sets)), np.int32),
            )
        )

    def build(self, collective: Collective) -> Schedule:
        """Make the schedule of all steps so far, for `collective`.

        Raises:
            ScheduleError: See `Schedule`; names the first malformed transfer.
        """
        none = np.empty(0, np.int32)
        nothing = (*[none] * 6, none.astype(np.bool_), *[none] * 2)
        columns = Columns(*(np.concatenate(parts) for parts in zip(nothing, *self._steps, strict=True)))
        stages, rail_sets = tuple(self._stages), tuple(self._rail_sets)
        return Schedule(self.nodes, self.grid, collective, columns, stages, rail_sets)
