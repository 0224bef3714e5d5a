"""Time in integer ticks: what ends at the same time does so exactly, without the slowness of fractions.

A port that becomes free and a stripe that may go at the very same time have to meet: with rounding, the
stripe comes too late by the last bit, the port takes another one, and the result is off by much more than a
bit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from analysis.simulation.tasks import Tasks

Ticks = NDArray[np.int64]

LIMIT = 2**60
"""No simulation lasts so many ticks, nor a few times as long."""


@dataclass(frozen=True)
class Clock:
    """A unit of time.

    Attributes:
        per_unit: Ticks in one D/B.
        is_exact: Whether all durations are whole numbers of ticks. If not, they are rounded to the nearest.
    """

    per_unit: int
    is_exact: bool = True

    def time(self, ticks: int) -> Fraction:
        """Convert ticks to D/B."""
        return Fraction(ticks, self.per_unit)

    def ticks(self, time: Fraction) -> int:
        """Convert D/B to the nearest tick."""
        return round(time * self.per_unit)


def choose(
    tasks: Tasks,
    rates: Collection[Fraction],
    alpha: Fraction,
    instants: Iterable[Fraction] = (),
    finer: int = 1,
) -> Clock:
    """Choose a clock on which everything happens at whole ticks.

    Args:
        tasks: What is to be simulated.
        rates: All rates that a task may run at, in B; zero does not count.
        alpha: Cost of a message, in D/B.
        instants: Other times that must be whole, in D/B.
        finer: Make the tick so many times shorter than all that needs.

    Returns:
        The clock. It is exact unless the tasks, one after another, would take too many ticks, which takes
        rates or alphas with odd denominators.
    """
    atom = Fraction(_common_length(tasks), tasks.stripes.grid)
    live = [rate for rate in rates if rate > 0]
    denominators = [(atom / rate).denominator for rate in live]
    instants = list(instants)
    denominators += [time.denominator for time in instants]
    per_unit = math.lcm(alpha.denominator, *denominators) * finer
    carried = Fraction(int(_lengths(tasks)[tasks.stripe].sum()), tasks.stripes.grid)
    longest = len(tasks) * alpha + (carried / min(live) if live else 0) + max(instants, default=0)
    if longest * per_unit < LIMIT:
        return Clock(per_unit)
    return Clock(int(LIMIT / longest), is_exact=False)


def measure(tasks: Tasks, alpha: Fraction, clock: Clock) -> Ticks:
    """Measure, per task, how long it takes.

    Args:
        tasks: Tasks at rates that the clock was chosen for.
        alpha: Cost of a message, in D/B.
        clock: The unit.
    """
    common = _common_length(tasks)
    lengths = (_lengths(tasks) // common)[tasks.stripe]
    # The last entry is that of NONE = -1: no time. A dead NIC takes no time either, but nothing gets there.
    atoms = [Fraction(common, tasks.stripes.grid) / rate if rate else Fraction(0) for rate in tasks.rates]
    table = [atom * clock.per_unit for atom in (*atoms, Fraction(0))]
    cost = alpha * clock.per_unit
    if clock.is_exact:
        per_length = np.array([int(one) for one in table], np.int64)
        return lengths * per_length[tasks.rate] + tasks.is_hop * np.int64(cost)
    unrounded = lengths * np.array([float(one) for one in table])[tasks.rate] + tasks.is_hop * float(cost)
    rounded: Ticks = np.rint(unrounded).astype(np.int64)
    return rounded


def _lengths(tasks: Tasks) -> NDArray[np.int64]:
    return (tasks.stripes.source_hi - tasks.stripes.source_lo).astype(np.int64)


def _common_length(tasks: Tasks) -> int:
    """Return the largest length that divides all stripes."""
    return int(np.gcd.reduce(_lengths(tasks))) if len(tasks) else 1
