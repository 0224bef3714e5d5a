"""OptCC's four stages, for one segment of the data (paper 2, OptCC, arXiv 2606.01680).

One participant, the straggler, is slow; the other m are healthy and form a ring. A segment has m sections.
Section j goes round the healthy ring from member j+1 to member j, and visits the straggler in place of the
one hop that is left over, that from member j to member j+1.

- S1, reduce-scatter on the healthy ring, m-1 steps: in step s section j goes from member j+1+s to the next,
  which adds it. In the end member j, its owner, holds the healthy sum.
- S2, owner to straggler: what member j has of section j.
- S3, straggler to healthy: what the straggler has of section j, to member j+1.
- S4, all-gather on the healthy ring, m-1 steps.

*Ordering 1* is S1 S2 S3 S4: the straggler adds its own data to what S2 brings, S3 gives back the full sum,
and S4 begins at member j+1. *Ordering 2* is S3 S1 S4 S2: the straggler first gives its raw data to member
j+1, which adds it before its first hop, so that S1 ends with the full sum at member j, where S4 begins; S2
copies it to the straggler. Both take every contribution once, in place and without scratch.

Loads in each direction: the straggler 1, a healthy node 2 (m-1)/m + 1/m = (2p-3)/(p-1) for p = m+1. All
together 2 (p-1), the least that any allreduce moves.

Not handled here: when things happen, which a `Pattern` says (`algorithms.optcc`, `algorithms.optcc_overlay`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.timetable import Timetable

EIGHTHS = 8
"""Patterns count time in eighths of a body."""

Integers = NDArray[np.int64]


class Slope(NamedTuple):
    """When the steps of S1 or S4 begin.

    Step s of the section that is the q-th in its order begins `begin + per_step s/(m-1) + per_section q/m`
    eighths of a body after the beginning of the pattern.
    """

    begin: int
    per_step: int
    per_section: int


@dataclass(frozen=True)
class Pattern:
    """One way for a segment to go through the four stages, with its times in eighths of a body.

    A *body* is the time that the straggler takes to receive, or to send, one segment. It has m windows. In
    window j of each body the straggler receives section j of some segment from member j, and sends section j
    of some segment to member j+1. Then it takes one hop of the healthy ring out of use at a time, and not
    two.

    Attributes:
        ordering: 1 (S1 S2 S3 S4) or 2 (S3 S1 S4 S2).
        receive: When S2 begins. In the middle of a body it begins with the section whose window is next.
        send: When S3 begins, likewise.
        reduce_scatter: When the steps of S1 begin; sections in the order in which the straggler meets them
            for the first time.
        all_gather: When the steps of S4 begin; in the order of the second time.
    """

    ordering: int
    receive: int
    send: int
    reduce_scatter: Slope
    all_gather: Slope


def ticks_per_body(members: int) -> int:
    """Return a unit of time in which all times of all patterns are whole numbers."""
    return EIGHTHS * members * (members - 1)


class FourStages:
    """Writes segments into a timetable.

    Args:
        timetable: Receives the transfers.
        ring: The m healthy nodes in the order of their ring, at least two.
        straggler: The node that is none of them.
        rails: The rails that the straggler still has; None means all.
        finer: Into how many ticks of the timetable a tick of `ticks_per_body` is cut.
    """

    def __init__(
        self,
        timetable: Timetable,
        ring: Sequence[int],
        straggler: int,
        rails: Collection[int] | None = None,
        finer: int = 1,
    ) -> None:
        self._timetable = timetable
        self._ring = np.array(ring, np.int64)
        self._straggler = straggler
        self._rails = rails
        self._m = len(ring)
        self._ticks = ticks_per_body(self._m) * finer

    def segment(self, pattern: Pattern, begin: int, lo: int, length: int) -> None:
        """Add one segment.

        Args:
            pattern: In which order it goes through the stages, and when.
            begin: When the pattern begins, in bodies.
            lo: Where the segment lies, in grid units.
            length: Length of each of its m sections.
        """
        section = np.arange(self._m)
        start, window = begin * self._ticks, self._ticks // self._m
        received, sent = self._windows(pattern.receive), self._windows(pattern.send)
        add = partial(self._timetable.add, lo=lo + section * length, hi=lo + (section + 1) * length)
        owner, after_owner = self._ring, np.roll(self._ring, -1)
        # Ordering 1 takes the healthy sum to the straggler and back the full one, ordering 2 gives raw data
        # and takes the full sum.
        gives_raw_data = pattern.ordering == 2
        add(
            at=start + sent * window,
            stage="S3",
            source=self._straggler,
            target=after_owner,
            reduce=gives_raw_data,
            rails=self._rails,
        )
        add(
            at=start + received * window,
            stage="S2",
            source=owner,
            target=self._straggler,
            reduce=not gives_raw_data,
            rails=self._rails,
        )
        first, second = (sent, received) if gives_raw_data else (received, sent)
        sum_begins_at = section if gives_raw_data else section + 1
        for step in range(self._m - 1):
            for stage, slope, windows, begins_at in (
                ("S1", pattern.reduce_scatter, first, section + 1),
                ("S4", pattern.all_gather, second, sum_begins_at),
            ):
                add(
                    at=start + self._planned(slope, step, windows - windows.min()),
                    stage=stage,
                    source=self._ring[(begins_at + step) % self._m],
                    target=self._ring[(begins_at + step + 1) % self._m],
                    reduce=stage == "S1",
                )

    def _windows(self, eighths: int) -> Integers:
        """Say in which window after the pattern's beginning each section meets the straggler."""
        begin = -(-eighths * self._m // EIGHTHS)
        return begin + (np.arange(self._m) - begin) % self._m

    def _planned(self, slope: Slope, step: int, place: Integers) -> Integers:
        """Say when a step begins for sections in these places."""
        eighth = self._ticks // EIGHTHS
        by_step = slope.per_step * step * (eighth // (self._m - 1))
        return slope.begin * eighth + by_step + slope.per_section * place * (eighth // self._m)
