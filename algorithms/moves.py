"""What it takes to move stripes: how long each occupies its two ports, and what has to happen before what.

For whoever plays stripes one by one: `algorithms.list_schedule`, to write them in a better order, and
`analysis.simulation.executor`, to predict what real ranks make of them.

Not handled here: stripes that take detours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from algorithms.hazards import dependencies
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError


def durations(stripes: Stripes, rates: Sequence[Sequence[Fraction]]) -> tuple[list[int], list[int]]:
    """Measure how long each stripe takes at either end, in ticks.

    Args:
        stripes: A mapped schedule, each stripe going straight over its home rail.
        rates: `rates[node][rail]`, what each NIC can carry in each direction, in any unit.

    Returns:
        Per stripe its ticks at the NIC that sends it and at the one that receives it; `ticks_per_unit` says
        how long a tick is.

    Raises:
        ScheduleError: A stripe takes a detour, or goes through a NIC that is dead.
    """
    columns = stripes.schedule.columns
    source, target = columns.source[stripes.transfer], columns.target[stripes.transfer]
    unit = ticks_per_unit(rates)
    per_atom = np.array([[int(unit / rate) if rate else 0 for rate in of_node] for of_node in rates], object)
    sending, receiving = per_atom[source, stripes.home], per_atom[target, stripes.home]
    dead = (sending == 0) | (receiving == 0)
    detour = np.array([len(route) != 1 for route in stripes.routes], np.bool_)[stripes.route]
    detour |= np.array([route[0].rail for route in stripes.routes], np.int64)[stripes.route] != stripes.home
    for fault, rows in (("goes through a dead NIC", dead), ("takes a detour", detour)):
        if rows.any():
            raise ScheduleError(
                f"{stripes[int(np.argmax(rows))]}: {fault}, and only straight moves can be played here"
            )
    length = (stripes.source_hi - stripes.source_lo).astype(object)
    return (length * sending).tolist(), (length * receiving).tolist()


def ticks_per_unit(rates: Sequence[Sequence[Fraction]]) -> int:
    """Return how many ticks an atom takes at a rate of 1; at each of the rates given it takes whole ones."""
    return math.lcm(*(Fraction(rate).numerator for of_node in rates for rate in of_node if rate))


def events(stripes: Stripes) -> tuple[list[int], list[list[int]]]:
    """Derive what has to happen before what: stripe i leaves its buffer in event 2i and lands in 2i+1.

    Returns:
        For each event how many others it waits for (event 2i: before the stripe may begin to move), and
        which wait for it.
    """
    columns = stripes.schedule.columns
    source, target = columns.source[stripes.transfer], columns.target[stripes.transfer]
    count = len(stripes)
    followers = [[2 * stripe + 1] if event == 0 else [] for stripe in range(count) for event in (0, 1)]
    waits_for = [0, 1] * count
    for node in range(stripes.schedule.nodes):
        accesses = np.flatnonzero((source == node) | (target == node))
        writes = target[accesses] == node
        lo = np.where(writes, stripes.target_lo[accesses], stripes.source_lo[accesses])
        hi = np.where(writes, stripes.target_hi[accesses], stripes.source_hi[accesses])
        indptr, awaited = dependencies(lo, hi, writes)
        numbers = 2 * accesses + writes
        waiting = np.repeat(numbers, np.diff(indptr))
        for first, then in zip(numbers[awaited].tolist(), waiting.tolist(), strict=True):
            followers[first].append(then)
            waits_for[then] += 1
    return waits_for, followers
