"""Planted errors for schedules of any grid: each changes one transfer and keeps the schedule well formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np

from algorithms.schedule import Columns, Schedule

Mutant = Callable[[Schedule, int, int], Schedule]


def with_rows(schedule: Schedule, rows: list[int]) -> Schedule:
    """Keep the given transfers, in that order."""
    columns = {field.name: getattr(schedule.columns, field.name)[rows] for field in fields(Columns)}
    return replace(schedule, columns=Columns(**columns))


def with_entry(schedule: Schedule, row: int, **entries: int) -> Schedule:
    """Change entries of one transfer."""
    columns = {field.name: np.array(getattr(schedule.columns, field.name)) for field in fields(Columns)}
    for name, entry in entries.items():
        columns[name][row] = entry
    return replace(schedule, columns=Columns(**columns))


def drop(schedule: Schedule, row: int, _by: int) -> Schedule:
    """Leave out the transfer."""
    return with_rows(schedule, [other for other in range(len(schedule)) if other != row])


def duplicate(schedule: Schedule, row: int, by: int) -> Schedule:
    """Execute the transfer again, `by` transfers later."""
    rows = list(range(len(schedule)))
    rows.insert(min(row + by, len(rows)), row)
    return with_rows(schedule, rows)


def swap_reduce_and_copy(schedule: Schedule, row: int, _by: int) -> Schedule:
    """Copy what should be reduced, or the other way round."""
    return with_entry(schedule, row, reduce=not schedule[row].reduce)


def shift_region(schedule: Schedule, row: int, by: int) -> Schedule:
    """Transfer another region of the same length."""
    low, high = schedule[row].source_region
    moved = (low + by) % (schedule.grid - (high - low) + 1)
    end = moved + high - low
    return with_entry(schedule, row, source_lo=moved, source_hi=end, target_lo=moved, target_hi=end)


def shift_target(schedule: Schedule, row: int, by: int) -> Schedule:
    """Write another region than the one read."""
    low, high = schedule[row].target_region
    moved = (low + by) % (schedule.grid - (high - low) + 1)
    return with_entry(schedule, row, target_lo=moved, target_hi=moved + high - low)


def other_source(schedule: Schedule, row: int, by: int) -> Schedule:
    """Take the data from another node, which is not the target."""
    one = schedule[row]
    others = [node for node in range(schedule.nodes) if node not in {one.source, one.target}]
    return with_entry(schedule, row, source=others[by % len(others)])


def other_target(schedule: Schedule, row: int, by: int) -> Schedule:
    """Give the data to another node, which is not the source."""
    one = schedule[row]
    others = [node for node in range(schedule.nodes) if node not in {one.source, one.target}]
    return with_entry(schedule, row, target=others[by % len(others)])


MUTANTS: tuple[Mutant, ...] = (
    drop,
    duplicate,
    swap_reduce_and_copy,
    shift_region,
    shift_target,
    other_source,
    other_target,
)
