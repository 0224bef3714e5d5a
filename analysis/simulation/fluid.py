"""Shared ports: everything that may go flows at once, at max-min fair rates. Exact fractions, so small cases.

Rates are filled up together until a port is full; what goes through that port stays at its rate, the others
are filled further (progressive filling). They are set anew whenever something starts or ends. Alpha passes
before the bytes of a hop flow; it occupies no port here.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from algorithms.nic import Nic
from analysis.rail_rates import RailRates
from analysis.simulation.clock import LIMIT, Clock, Ticks
from analysis.simulation.order import Order
from analysis.simulation.ports import check_all_ended
from analysis.simulation.tasks import NONE, Tasks

Flow = tuple[int, int]
"""The two ports that a task occupies."""


def fair_rates(flows: Mapping[int, Flow], capacity: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """Share ports out.

    Args:
        flows: Per task its two ports; twice the same if it uses one only.
        capacity: Rate of each port.

    Returns:
        The max-min fair rate of each task.

    >>> fair_rates({7: (0, 1), 8: (0, 3), 9: (2, 3)}, {0: 1, 1: Fraction(1, 4), 2: 1, 3: 1})
    {7: Fraction(1, 4), 8: Fraction(1, 2), 9: Fraction(1, 2)}
    """
    users: dict[int, set[int]] = {}
    for task, ports in flows.items():
        for port in ports:
            users.setdefault(port, set()).add(task)
    left = {port: Fraction(capacity[port]) for port in users}
    rates = {}
    while users:
        fullest = min(users, key=lambda port: (left[port] / len(users[port]), port))
        rate = left[fullest] / len(users[fullest])
        for task in sorted(users[fullest]):
            rates[task] = rate
            for port in set(flows[task]):
                left[port] -= rate
                users[port].discard(task)
        users = {port: tasks for port, tasks in users.items() if tasks}
    return {task: rates[task] for task in flows}


def share_ports(tasks: Tasks, order: Order, rates: RailRates, alpha: Fraction) -> tuple[Clock, Ticks, Ticks]:
    """Play tasks with shared ports.

    Args:
        tasks: What is to be done.
        order: What waits for what.
        rates: What every NIC can carry.
        alpha: What passes before the bytes of a hop flow, in D/B.

    Returns:
        The unit of time, and per task when it started and ended.

    Raises:
        ScheduleError: Some tasks wait for each other for ever; names the first one.
    """
    run = _SharedRun(tasks, order, _capacities(tasks, rates), alpha)
    run.finish()
    times = [time for time in (*run.start, *run.end) if time is not None]
    per_unit = math.lcm(*(time.denominator for time in times))
    longest = max(times, default=Fraction(0))
    is_exact = longest * per_unit < LIMIT
    clock = Clock(per_unit if is_exact else int(LIMIT // 4 / longest), is_exact)
    start, end = (
        np.array([round((time or Fraction(0)) * clock.per_unit) for time in column], np.int64)
        for column in (run.start, run.end)
    )
    return clock, start, end


class _SharedRun:
    """A simulation on its way; see `analysis.simulation.ports.Run` for the words."""

    def __init__(self, tasks: Tasks, order: Order, capacity: Mapping[int, Fraction], alpha: Fraction) -> None:
        self.start: list[Fraction | None] = [None] * len(tasks)
        self.end: list[Fraction | None] = [None] * len(tasks)
        self._tasks, self._order, self._capacity, self._alpha = tasks, order, capacity, alpha
        self._reasons = order.reasons()
        self._now = Fraction(0)
        self._delayed: list[tuple[Fraction, int]] = []
        self._left: dict[int, Fraction] = {}

    def finish(self) -> None:
        self._open(np.flatnonzero(self._reasons == 0).tolist())
        while self._left or self._delayed:
            flows = {task: (int(self._tasks.one[task]), int(self._tasks.other[task])) for task in self._left}
            rates = fair_rates(flows, self._capacity)
            instants = [self._now + left / rates[task] for task, left in self._left.items()]
            instants += [self._delayed[0][0]] if self._delayed else []
            passed = min(instants) - self._now
            self._now += passed
            self._left = {task: left - passed * rates[task] for task, left in self._left.items()}
            for task in sorted(task for task, left in self._left.items() if left == 0):
                del self._left[task]
                self._close(task)
            while self._delayed and self._delayed[0][0] == self._now:
                self._flow(heapq.heappop(self._delayed)[1])
        check_all_ended(self._tasks, np.array([time is not None for time in self.end], np.bool_))

    def _open(self, opened: list[int]) -> None:
        for task in opened:
            self.start[task] = self._now
            if self._tasks.one[task] == NONE:
                self._close(task)
            elif self._tasks.is_hop[task] and self._alpha:
                heapq.heappush(self._delayed, (self._now + self._alpha, task))
            else:
                self._flow(task)

    def _flow(self, task: int) -> None:
        stripes, stripe = self._tasks.stripes, self._tasks.stripe[task]
        atoms = int(stripes.source_hi[stripe]) - int(stripes.source_lo[stripe])
        self._left[task] = Fraction(atoms, stripes.grid)

    def _close(self, task: int) -> None:
        self.end[task] = self._now
        released = self._order.released_by(np.array([task], np.int32))
        np.subtract.at(self._reasons, released, 1)
        self._open(sorted({one for one in released.tolist() if self._reasons[one] == 0}))


def _capacities(tasks: Tasks, rates: RailRates) -> dict[int, Fraction]:
    """Tell what each port that is used can carry."""
    ports = tasks.ports
    capacity = {}
    for node in range(ports.nodes):
        for rail in range(ports.rails):
            nic = Nic(node, rail)
            capacity[ports.sending(nic)] = capacity[ports.receiving(nic)] = rates.rate(nic)
    used = np.unique(tasks.one[~tasks.is_hop & (tasks.one != NONE)]).tolist()
    rate = tasks.rates[int(tasks.rate[~tasks.is_hop].max())] if used else Fraction(0)
    return capacity | dict.fromkeys(used, rate)
