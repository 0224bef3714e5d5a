"""Changes that wait for the collective instead of the clock: at half of a NIC's bytes, at its third chunk.

When that is depends on all that happened before, so the collectives are played again for each such change:
the first one to come is fixed, and what comes later cannot move it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from analysis.errors import ModelError
from analysis.simulation.clock import Ticks
from analysis.simulation.failures import Change
from analysis.simulation.timeline import Timeline


@dataclass(frozen=True)
class Awaited:
    """A change at a certain point of a collective.

    Attributes:
        change: What happens; its time does not count.
        name: What to call it in messages.
        collective: The collective that counts, from 1.
        sent: What the NIC has sent in it by then, in units of the data; None: something else counts.
        stripes: How many stripes (chunks) it has sent; None: something else counts.
        done: Which share of its sends and landings the NIC's node has begun or done; None: something else.
    """

    change: Change
    name: str
    collective: int
    sent: Fraction | None = None
    stripes: int | None = None
    done: Fraction | None = None


def fixed(
    changes: Sequence[Change], awaited: Sequence[Awaited], play: Callable[[Sequence[Change]], list[Timeline]]
) -> list[Change]:
    """Find out when awaited changes happen.

    Args:
        changes: Those whose time is known.
        awaited: The others.
        play: Plays all collectives with the changes it is given.

    Returns:
        All changes, with their times.

    Raises:
        ModelError: A change never comes, because the collective ends before; names it.
    """
    known, waiting = list(changes), list(awaited)
    while waiting:
        timelines = play(known)
        times = {one: _time(one, timelines) for one in waiting}
        coming = {one: time for one, time in times.items() if time is not None}
        if not coming:
            raise ModelError(f"{waiting[0].name}: collective {waiting[0].collective} is over before")
        first = min(coming, key=lambda one: coming[one])
        known.append(Change(coming[first], first.change.nic, first.change.factor, first.change.unnoticed))
        waiting.remove(first)
    return known


def _time(awaited: Awaited, timelines: Sequence[Timeline]) -> Fraction | None:
    """Tell when a change comes, from the beginning of the first collective; None: it does not."""
    number = awaited.collective - 1
    timeline, nic = timelines[number], awaited.change.nic
    if awaited.done is not None:
        ticks = _done(timeline, nic.node)
        needed = math.ceil(awaited.done * len(ticks))
    else:
        rows = np.flatnonzero((timeline.one == timeline.ports.sending(nic)) & ~timeline.is_lost)
        rows = rows[np.argsort(timeline.end[rows], kind="stable")]
        ticks = timeline.end[rows]
        if awaited.stripes is not None:
            needed = awaited.stripes
        else:
            assert awaited.sent is not None
            passed = np.cumsum(timeline.atoms[rows])
            atoms = math.ceil(awaited.sent * timeline.stripes.grid)
            needed = int(np.searchsorted(passed, atoms)) + 1 if atoms else 0
    begin = sum((one.completion for one in timelines[:number]), Fraction(0))
    if needed == 0:
        return begin
    return begin + timeline.clock.time(int(ticks[needed - 1])) if needed <= len(ticks) else None


def _done(timeline: Timeline, node: int) -> Ticks:
    """Sort the times at which a node's sends left its buffer and what it received landed there."""
    columns, transfer = timeline.stripes.schedule.columns, timeline.stripes.transfer
    left = np.full(len(timeline.stripes), np.iinfo(np.int64).max)
    np.minimum.at(left, timeline.stripe, timeline.start)
    sends, receives = columns.source[transfer] == node, columns.target[transfer] == node
    return np.sort(np.concatenate([left[sends], timeline.landed[receives]]))
