"""Runs schedules and stripes on real numbers, in program order: a second opinion beside the symbolic oracle.

Inputs are random integers far apart, so that a wrong result does not look right by accident, and small enough
for sums in int64 to be exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.collective import Holding
from algorithms.nic import Nic
from algorithms.schedule import Schedule, element
from algorithms.stripes import Stripes

Buffers = NDArray[np.int64]


class Replay:
    """The buffers of all nodes, shape (nodes, count), before the first transfer.

    What the precondition does not define is filled with garbage.
    """

    def __init__(self, schedule: Schedule, count: int, seed: int) -> None:
        self.schedule = schedule
        self.count = count
        rng = np.random.default_rng(seed)
        self._inputs = rng.integers(1, 2**50, (schedule.nodes, count))
        self.buffers: Buffers = rng.integers(1, 2**50, (schedule.nodes, count))
        for holding in schedule.collective.precondition:
            self.buffers[holding.node, self._elements(*holding.region)] = self._value(holding)

    def run_transfers(self) -> Replay:
        """Execute the transfers of the schedule."""
        for transfer in self.schedule:
            data = self.buffers[transfer.source, self._elements(*transfer.source_region)].copy()
            place = self.buffers[transfer.target, self._elements(*transfer.target_region)]
            place[:] = place + data if transfer.reduce else data
        return self

    def run_stripes(self, stripes: Stripes, dead: frozenset[Nic] = frozenset()) -> Replay:
        """Execute the stripes instead: each arrives where its route leads, unless a NIC on it is dead."""
        for stripe in stripes:
            here, lost = stripe.transfer.source, False
            for hop in stripe.route:
                lost |= bool({Nic(here, hop.rail), Nic(hop.node, hop.rail)} & dead)
                here = hop.node
            if lost:
                continue
            data = self.buffers[
                stripe.transfer.source, self._elements(*stripe.source_region, grid=stripes.grid)
            ].copy()
            place = self.buffers[here, self._elements(*stripe.target_region, grid=stripes.grid)]
            place[:] = place + data if stripe.transfer.reduce else data
        return self

    def is_right(self) -> bool:
        """Compare every element the postcondition speaks of."""
        return all(
            np.array_equal(
                self.buffers[holding.node, self._elements(*holding.region)],
                self._value(holding),
            )
            for holding in self.schedule.collective.postcondition
        )

    def _value(self, holding: Holding) -> Buffers:
        total: Buffers = self._inputs[sorted(holding.contributors)][:, self._elements(*holding.region)].sum(
            axis=0
        )
        return total

    def _elements(self, low: int, high: int, grid: int = 0) -> slice:
        grid = grid or self.schedule.grid
        return slice(element(low, self.count, grid), element(high, self.count, grid))
