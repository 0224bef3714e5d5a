"""Why a simulation took so long: the chain of tasks, each waiting for the one before, that ends last."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from algorithms.columns import IntColumn
from analysis.simulation.clock import Ticks
from analysis.simulation.order import Order
from analysis.simulation.tasks import NONE, Tasks


class Cause(enum.Enum):
    """What a task waited for last."""

    BEGIN = "begin"
    """Nothing: it started with the collective."""
    ARRIVAL = "arrival"
    """The task before it of its own stripe."""
    DATA = "data"
    """Another stripe that had to land first: it brings what is read, or is written over."""
    ORDER = "order"
    """Another stripe that had to leave first: it reads what is written over, or is ahead in the channel."""
    PORT = "port"
    """A port that was occupied."""


class Link(NamedTuple):
    """One task of the chain, by its number, and what it waited for last: the link before this one."""

    task: int
    cause: Cause


def critical_path(tasks: Tasks, order: Order, start: Ticks, end: Ticks) -> list[Link]:
    """Follow the chain back from the first of the stripes that landed last.

    Args:
        tasks: What was done.
        order: What waited for what.
        start: Per task when it started.
        end: Per task when it ended.

    Returns:
        The chain from its beginning. Where several causes ended at the same time the first of `Cause` counts,
        and among tasks the first in program order.
    """
    if not len(tasks):
        return []
    awaited, begins = order.awaited()
    users = [_users(ports, end) for ports in (tasks.one, tasks.other)]
    task = int(tasks.landing[np.argmax(end[tasks.landing])])
    links = []
    while True:
        cause, before = _cause(task, awaited[begins[task] : begins[task + 1]], tasks, start, end)
        if before == NONE and start[task] > 0:
            cause = Cause.PORT
            found = [
                _user(ports, by_end, port, int(start[task]), end)
                for port in {int(tasks.one[task]), int(tasks.other[task])}
                for ports, by_end in zip((tasks.one, tasks.other), users, strict=True)
            ]
            before = min(one for one in found if one != NONE)
        links.append(Link(task, cause))
        if before == NONE:
            return links[::-1]
        task = before


def _cause(task: int, awaited: IntColumn, tasks: Tasks, start: Ticks, end: Ticks) -> tuple[Cause, int]:
    last = np.sort(awaited[end[awaited] == start[task]])
    if start[task] == 0 or not len(last):
        return Cause.BEGIN, NONE
    own = last[tasks.stripe[last] == tasks.stripe[task]]
    landings = last[last == tasks.landing[tasks.stripe[last]]]
    found = ((Cause.ARRIVAL, own), (Cause.DATA, landings), (Cause.ORDER, last))
    return next((cause, int(ones[0])) for cause, ones in found if len(ones))


def _users(port: IntColumn, end: Ticks) -> IntColumn:
    """Sort the tasks by port, and those of one port by when they ended."""
    return np.lexsort((end, port)).astype(np.int32)


def _user(port: IntColumn, by_end: IntColumn, wanted: int, ended: int, end: Ticks) -> int:
    """Find the task that used a port and ended at a certain time, or NONE."""
    low, high = np.searchsorted(port, [wanted, wanted + 1], sorter=by_end).tolist()
    of_port = by_end[low:high]
    place = int(np.searchsorted(end[of_port], ended))
    return int(of_port[place]) if place < len(of_port) and end[of_port[place]] == ended else NONE
