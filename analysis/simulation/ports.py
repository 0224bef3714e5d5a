"""The event loop: ports serve one stripe at a time, the lowest program index among those that may go.

Everything that ends at one instant is handled together, with NumPy: collectives are synchronous enough for a
thousand tasks to end at once, and then a loop over single tasks would be a hundred times slower. An instant
has three parts: the ports of what ended become free; what waited for it may go or lands, which may release
more; and then ports are given out. (Compiled, a loop over single tasks is quicker: `loops.play`.)
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import IntColumn
from algorithms.transfer import ScheduleError
from analysis.simulation import loops
from analysis.simulation.accelerator import compiled
from analysis.simulation.clock import Ticks
from analysis.simulation.order import Order
from analysis.simulation.tasks import NONE, Tasks

NOT_YET = -1
"""The time of what has not happened."""


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a simulation has come.

    Attributes:
        now: The time, in ticks.
        start: Per task when it started, or NOT_YET.
        end: Per task when it ended or, if that is after `now`, will end; or NOT_YET. One that has started and
            has no end was lost.
    """

    now: int
    start: Ticks
    end: Ticks


def play(tasks: Tasks, order: Order, durations: Ticks) -> tuple[Ticks, Ticks]:
    """Play tasks from the beginning to the end, in a compiled loop where that is quicker than a `Run`.

    Args:
        tasks: What is to be done.
        order: What waits for what.
        durations: Per task how long it occupies its ports, in ticks.

    Returns:
        Per task when it started and when it ended.

    Raises:
        ScheduleError: Some tasks wait for each other for ever; names the first one.
    """
    quick = compiled(loops.play, len(tasks))
    if quick is None:
        run = Run(tasks, order, durations)
        run.finish()
        return run.start, run.end
    waiting = loops.Waiting(order.followers, order.waiting, order.begins, order.counts)
    start, end = quick((tasks.one, tasks.other), durations, waiting, tasks.ports.count)
    check_all_ended(tasks, end != NOT_YET)
    return start, end


class Run:
    """A simulation on its way.

    Args:
        tasks: What is to be done.
        order: What waits for what.
        durations: Per task how long it occupies its ports, in ticks.
        progress: Where to go on; None: at the beginning.

    Attributes:
        now: The time, in ticks.
        start: Per task when it started, or NOT_YET.
        end: Per task when it ended, or NOT_YET.
    """

    def __init__(
        self, tasks: Tasks, order: Order, durations: Ticks, progress: Progress | None = None
    ) -> None:
        not_yet = np.full(len(tasks), NOT_YET, np.int64)
        begin = Progress(0, not_yet, not_yet) if progress is None else progress
        self.tasks = tasks
        self.durations = durations
        self.now = begin.now
        self.start = begin.start.copy()
        self.end = begin.end.copy()
        self._order = order
        self._reasons = order.reasons()
        self._is_free = np.ones(tasks.ports.count, np.bool_)
        self._claims = np.full(tasks.ports.count, NONE, np.int32)
        self._may_go = np.empty(0, np.int32)
        self._instants: list[int] = []
        self._ending: dict[int, list[IntColumn]] = {}
        if progress is not None:
            known = np.flatnonzero(self.end != NOT_YET).astype(np.int32)
            has_ended = self.end[known] <= self.now
            np.subtract.at(self._reasons, order.released_by(known[has_ended]), 1)
            self._occupy(known[~has_ended])
            # Whatever still ends before them now: what has started does not start again.
            self._reasons[self.start != NOT_YET] = len(tasks)
        self._open(np.flatnonzero(self._reasons == 0).astype(np.int32))

    def finish(self) -> None:
        """Run to the end.

        Raises:
            ScheduleError: Some tasks wait for each other for ever; names the first one.
        """
        self.advance(None)
        check_all_ended(self.tasks, self.end != NOT_YET)

    def advance(self, until: int | None) -> None:
        """Handle all instants up to and including this one; None: all there are."""
        self._give_out_ports()
        while self._instants and (until is None or self._instants[0] <= until):
            self.now = heapq.heappop(self._instants)
            ended = np.concatenate(self._ending.pop(self.now))
            self._is_free[self.tasks.one[ended]] = True
            self._is_free[self.tasks.other[ended]] = True
            self._release(ended)
            self._give_out_ports()

    def _release(self, ended: IntColumn) -> None:
        """Let go what waited for these tasks and for nothing else any more."""
        released = self._order.released_by(ended)
        np.subtract.at(self._reasons, released, 1)
        self._open(_distinct(released[self._reasons[released] == 0]))

    def _open(self, opened: IntColumn) -> None:
        """Handle tasks that wait for nothing more but ports."""
        at_once = self.tasks.one[opened] == NONE
        instantaneous = opened[at_once]
        self._may_go = np.concatenate([self._may_go, opened[~at_once]])
        if len(instantaneous):
            self.start[instantaneous] = self.end[instantaneous] = self.now
            self._release(instantaneous)

    def _give_out_ports(self) -> None:
        """Start, in program order, every task whose ports are free when its turn comes.

        All at once: a task that comes first at both its ports starts for sure. Then the ports it took are
        gone, others come first, and so on until nobody is left whose ports are free.
        """
        one, other, is_free, claims = self.tasks.one, self.tasks.other, self._is_free, self._claims
        asking = np.sort(self._may_go)
        while True:
            asking = asking[is_free[one[asking]] & is_free[other[asking]]]
            if not len(asking):
                break
            # Of several values for one place NumPy keeps the last, so the lowest index is written last.
            claims[one[asking[::-1]]] = asking[::-1]
            # A port may be the first of some task and the second of another one only if it is a memory.
            claims[other[asking[::-1]]] = asking[::-1]
            first = (claims[one[asking]] == asking) & (claims[other[asking]] == asking)
            self._begin(asking[first])
            asking = asking[~first]
        self._may_go = self._may_go[self.start[self._may_go] == NOT_YET]

    def _begin(self, tasks: IntColumn) -> None:
        self.start[tasks] = self.now
        self.end[tasks] = self.now + self.durations[tasks]
        self._occupy(tasks)

    def _occupy(self, tasks: IntColumn) -> None:
        """Take the ports of tasks that have begun, until they end."""
        self._is_free[self.tasks.one[tasks]] = False
        self._is_free[self.tasks.other[tasks]] = False
        ends = self.end[tasks]
        for instant in _distinct(ends).tolist():
            if instant not in self._ending:
                self._ending[instant] = []
                heapq.heappush(self._instants, instant)
            self._ending[instant].append(tasks[ends == instant])


def check_all_ended(tasks: Tasks, has_ended: NDArray[np.bool_]) -> None:
    """Raise a ScheduleError if some tasks never ended, naming the first one."""
    if not has_ended.all():
        left = int(np.count_nonzero(~has_ended))
        first = tasks.describe(int(np.argmin(has_ended)))
        raise ScheduleError(f"{first}: waits for ever, and so do {left - 1} other tasks")


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Sort values and drop duplicates; `numpy.unique` takes three times as long for a thousand of them."""
    if len(values) < 2:
        return values
    values = np.sort(values)
    keep = np.empty(len(values), np.bool_)
    keep[0] = True
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]
