"""How deep a schedule is: the messages that must follow one another, however fast the network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from algorithms.schedule import Schedule


class StageDepth(NamedTuple):
    """A stage of a schedule: its label, its transfers, and the longest chain among them alone."""

    stage: str
    transfers: int
    steps: int


def longest_chain(schedule: Schedule, stage: str | None = None) -> int:
    """Count the longest chain of transfers in which each one reads or adds to what the one before wrote.

    Args:
        schedule: Any schedule.
        stage: Look at the transfers of this stage only, as if nothing had happened before.
    """
    columns = schedule.columns
    corners = (columns.source_lo, columns.source_hi, columns.target_lo, columns.target_hi)
    boundaries = np.unique(np.concatenate(corners))
    rows = np.ones(len(schedule), np.bool_)
    if stage is not None:
        rows = columns.stage == schedule.stages.index(stage)
    cells = [np.searchsorted(boundaries, corner[rows]).tolist() for corner in corners]
    chain = [[0] * len(boundaries) for _ in range(schedule.nodes)]  # of the last writer of each cell
    longest = 0
    ends = (columns.source[rows].tolist(), columns.target[rows].tolist())
    for source, target, from_lo, from_hi, to_lo, to_hi in zip(*ends, *cells, strict=True):
        before = max(*chain[source][from_lo:from_hi], *chain[target][to_lo:to_hi])
        chain[target][to_lo:to_hi] = [before + 1] * (to_hi - to_lo)
        longest = max(longest, before + 1)
    return longest


def stage_depths(schedule: Schedule) -> list[StageDepth]:
    """Describe the stages in the order of their first transfers."""
    counts = np.bincount(schedule.columns.stage, minlength=len(schedule.stages)).tolist()
    return [
        StageDepth(stage, count, longest_chain(schedule, stage))
        for stage, count in zip(schedule.stages, counts, strict=True)
        if count
    ]
