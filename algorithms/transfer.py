"""One transfer of a schedule, as an object to read and print."""

from __future__ import annotations

from dataclasses import dataclass

Region = tuple[int, int]
"""Half-open interval [low, high) on a schedule's integer grid."""


class ScheduleError(Exception):
    """A schedule, or its mapping to rails, is malformed or computes the wrong thing."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A region of one node's buffer goes to another node, which copies it or adds it to what it holds.

    Schedules store columns, not transfers (see `algorithms.schedule`): this is a view of one row.

    Attributes:
        index: Position in program order.
        source: Node that sends.
        target: Node that receives.
        source_region: What is read at the source, in grid units.
        target_region: What is written at the target; as long as `source_region`.
        reduce: True: combined with what the target holds. False: replaces it.
        stage: Label of the algorithm's stage.
        rails: Rails that may carry it; None means all.
        ordinal: How many earlier transfers go from this source to this target.
    """

    index: int
    source: int
    target: int
    source_region: Region
    target_region: Region
    reduce: bool
    stage: str
    rails: frozenset[int] | None
    ordinal: int

    @property
    def match_key(self) -> tuple[int, int, int]:
        """What both ends know this transfer by: (source, target, ordinal). Unique in its schedule."""
        return (self.source, self.target, self.ordinal)

    def __str__(self) -> str:
        region = f"[{self.source_region[0]}, {self.source_region[1]})"
        if self.target_region != self.source_region:
            region += f" to [{self.target_region[0]}, {self.target_region[1]})"
        what = f"{'reduce' if self.reduce else 'copy'} {region}"
        rails = "" if self.rails is None else f", rails {sorted(self.rails)}"
        return (
            f"transfer {self.index} ({self.stage}): node {self.source} -> node {self.target}, {what}{rails}"
        )
