"""The result of a simulation: when each port was occupied, by what, and when it stood still."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import IntColumn
from algorithms.nic import Nic
from algorithms.stripes import Stripes
from analysis.simulation.clock import Clock, Ticks
from analysis.simulation.tasks import Ports


class Interval(NamedTuple):
    """A time in which a port was occupied by a stripe, in D/B."""

    begin: Fraction
    end: Fraction
    stripe: int


class PortUse(NamedTuple):
    """How a port spent its time, in D/B; all zero if it was never used.

    Attributes:
        first: When it was occupied for the first time.
        last: When it was free for good.
        busy: How long it was occupied.
    """

    first: Fraction
    last: Fraction
    busy: Fraction

    @property
    def idle(self) -> Fraction:
        """How long it stood still between its first and its last stripe: the bubbles together."""
        return self.last - self.first - self.busy


@dataclass(frozen=True, eq=False)
class Timeline:
    """Everything that occupied a port. Rows in program order, or as they were tried where NICs failed.

    Attributes:
        stripes: What was carried out.
        ports: The ports there are.
        clock: The unit of `start` and `end`.
        stripe: Per row its stripe. Like `one` and `other` an int32 array.
        one: The port it occupied, of a hop the one that sends.
        other: The second port, of a hop the one that receives; the same again if there is none.
        start: When it began, int64 ticks.
        end: When it ended.
        atoms: What a hop carried, on the grid of the stripes; 0 for anything else. int64.
        is_lost: Whether a failure cut it short; the stripe then came again.
        landed: Per stripe when it landed, int64 ticks.
    """

    stripes: Stripes
    ports: Ports
    clock: Clock
    stripe: IntColumn
    one: IntColumn
    other: IntColumn
    start: Ticks
    end: Ticks
    atoms: NDArray[np.int64]
    is_lost: NDArray[np.bool_]
    landed: Ticks

    @cached_property
    def completion(self) -> Fraction:
        """When the last stripe landed, in D/B."""
        return self.clock.time(int(self.landed.max(initial=0)))

    def rail_loads(self) -> dict[Nic, tuple[Fraction, Fraction]]:
        """Count what passed through each NIC, also in vain.

        Returns:
            For each NIC (sent, received), in units of the data; as `Stripes.rail_loads` without failures.
        """
        carried = np.zeros(self.ports.count, np.int64)
        np.add.at(carried, self.one, self.atoms)
        np.add.at(carried, self.other, self.atoms)
        nics = (Nic(node, rail) for node in range(self.ports.nodes) for rail in range(self.ports.rails))
        grid = self.stripes.grid
        return {
            nic: (
                Fraction(int(carried[self.ports.sending(nic)]), grid),
                Fraction(int(carried[self.ports.receiving(nic)]), grid),
            )
            for nic in nics
        }

    @property
    def resent(self) -> Fraction:
        """What was carried in vain, in units of the data, each hop counted."""
        return Fraction(int(self.atoms[self.is_lost].sum()), self.stripes.grid)

    def intervals(self, port: int) -> list[Interval]:
        """List what occupied a port, in the order of time."""
        rows = np.flatnonzero((self.one == port) | (self.other == port))
        rows = rows[np.argsort(self.start[rows], kind="stable")]
        parts = (self.start[rows].tolist(), self.end[rows].tolist(), self.stripe[rows].tolist())
        time = self.clock.time
        return [Interval(time(begin), time(end), stripe) for begin, end, stripe in zip(*parts, strict=True)]

    def bubbles(self, port: int) -> list[tuple[Fraction, Fraction]]:
        """List the times (begin, end) in which a port stood still between its first and its last stripe."""
        found, free_at = [], None
        for begin, end, _ in self.intervals(port):
            if free_at is not None and begin > free_at:
                found.append((free_at, begin))
            free_at = end if free_at is None else max(free_at, end)
        return found

    def uses(self) -> list[PortUse]:
        """Sum up each port's time, by the number of the port."""
        port = np.concatenate([self.one, self.other[self.other != self.one]])
        rows = np.concatenate([np.arange(len(self.one)), np.flatnonzero(self.other != self.one)])
        order = rows[np.lexsort((self.start[rows], port))]
        port = np.sort(port)
        start, end = self.start[order], self.end[order]
        free_at = _running_maximum(port, end)
        # Counted from when the port was free: shared ports carry stripes at once.
        since = np.where(np.append(True, port[1:] != port[:-1])[: len(port)], start, np.roll(free_at, 1))
        busy = np.maximum(end - np.maximum(start, since), 0)
        totals = np.zeros(self.ports.count, np.int64)
        np.add.at(totals, port, busy)
        begins = np.searchsorted(port, np.arange(self.ports.count + 1)).tolist()

        def use(low: int, high: int, total: int) -> PortUse:
            if low == high:
                return PortUse(Fraction(0), Fraction(0), Fraction(0))
            times = int(start[low]), int(free_at[high - 1]), total
            return PortUse(*map(self.clock.time, times))

        return list(map(use, begins[:-1], begins[1:], totals.tolist()))

    def stages(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Tell for each stage when its first stripe left and when its last one landed."""
        schedule = self.stripes.schedule
        stage = schedule.columns.stage[self.stripes.transfer]
        found = {}
        for number, label in enumerate(schedule.stages):
            of_stage = stage == number
            rows = of_stage[self.stripe]
            if rows.any():
                first, last = int(self.start[rows].min()), int(self.landed[of_stage].max())
                found[label] = (self.clock.time(first), self.clock.time(last))
        return found


def _running_maximum(group: IntColumn, values: Ticks) -> Ticks:
    """Compute the largest value so far within each group of a sorted list."""
    # Groups are lifted above each other, so that one pass does.
    ranks = np.unique(values, return_inverse=True)
    lifted = group.astype(np.int64) * len(ranks[0]) + ranks[1]
    return np.asarray(ranks[0][np.maximum.accumulate(lifted) % max(len(ranks[0]), 1)], np.int64)
