"""Which task waits for the end of which other one.

Three reasons: a stripe's tasks follow each other; hazards (`algorithms.hazards`) order the accesses to each
node's buffer; and the rule for ports may order the stripes of a channel, or of a port.

A stripe reads its source while its first task runs, so that task waits for earlier writers, and later writers
wait for its end. It writes its target when it lands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import IntColumn
from algorithms.hazards import dependencies
from analysis.simulation import loops
from analysis.simulation.accelerator import compiled
from analysis.simulation.rules import Gate, PortRule, Rules
from analysis.simulation.tasks import NONE, Tasks

Wide = NDArray[np.int64]

MOST_CELLS = 2**25
"""Nodes times grid up to which the compiled loop keeps a table of all places, of four bytes each."""


@dataclass(frozen=True, eq=False)
class Order:
    """Who waits for whom, by tasks.

    Attributes:
        followers: Columns; each names for every task one that waits for its end, or NONE.
        in_channel: That of them which names the next stripe of the channel; None if channels keep no order.
        waiting: Lists of tasks that wait because of hazards, one after another.
        begins: Per task where the list of those that wait for it begins.
        counts: Per task how long that list is.
    """

    followers: tuple[IntColumn, ...]
    in_channel: IntColumn | None
    waiting: IntColumn
    begins: IntColumn
    counts: IntColumn

    def released_by(self, ended: IntColumn) -> IntColumn:
        """List the tasks that waited for any of these, once for each reason."""
        counts = self.counts[ended]
        held = np.repeat(self.begins[ended] - (np.cumsum(counts, dtype=np.int32) - counts), counts)
        parts = [self.waiting[held + np.arange(len(held), dtype=np.int32)]]
        for follower in self.followers:
            following = follower[ended]
            parts.append(following[following != NONE])
        return np.concatenate(parts)

    def reasons(self) -> IntColumn:
        """Count, per task, the ends that it waits for."""
        size = len(self.begins)
        counts = np.bincount(self.waiting, minlength=size)
        for follower in self.followers:
            counts += np.bincount(follower[follower != NONE], minlength=size)
        return counts.astype(np.int32)

    def awaited(self) -> tuple[IntColumn, Wide]:
        """Turn the lists around.

        Returns:
            (tasks, begins): task t waits for tasks[begins[t]:begins[t+1]].
        """
        size = len(self.begins)
        everybody = np.arange(size, dtype=np.int32)
        listed = np.argsort(self.begins, kind="stable")
        listed = listed[self.counts[listed] > 0]
        awaited = [np.repeat(everybody[listed], self.counts[listed])]
        waiting = [self.waiting]
        for follower in self.followers:
            has_one = follower != NONE
            awaited.append(everybody[has_one])
            waiting.append(follower[has_one])
        who = np.concatenate(waiting)
        begins = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(who, minlength=size), out=begins[1:])
        return np.concatenate(awaited)[np.argsort(who, kind="stable")], begins


def order_of(tasks: Tasks, rules: Rules) -> Order:
    """Derive who waits for whom."""
    next_task = np.arange(1, len(tasks) + 1, dtype=np.int32)
    next_task[tasks.landing] = NONE
    followers = [next_task]
    in_channel = None
    if rules.port in {PortRule.CHANNELS, PortRule.FAIR}:
        # What has arrived is applied in the order of its channel, too.
        in_channel, lands_next = _followers(tasks.channel, (tasks.first, tasks.landing), len(tasks))
        followers += [in_channel, lands_next]
    elif rules.port is PortRule.STRICT:
        hops = np.flatnonzero(tasks.is_hop).astype(np.int32)
        for port in (tasks.one[hops], tasks.other[hops]):
            followers += _followers(port, (hops,), len(tasks))
    return Order(tuple(followers), in_channel, *_hazards(tasks, rules.gate))


def _followers(group: IntColumn, columns: tuple[IntColumn, ...], size: int) -> list[IntColumn]:
    """Name for each task of a column the next one of the same group; likewise for the other columns."""
    groups = int(group.max(initial=NONE)) + 1
    if (quick := compiled(loops.followers, size)) is not None:
        return [quick(group, column, groups, size) for column in columns]
    # By group, and within it by row. One sort of packed numbers is faster than an argsort.
    order = np.sort(group.astype(np.int64) << 32 | np.arange(len(group))) & 0xFFFFFFFF
    group = group[order]
    same = group[1:] == group[:-1]
    found = []
    for column in columns:
        task = column[order]
        follower = np.full(size, NONE, np.int32)
        follower[task[:-1][same]] = task[1:][same]
        found.append(follower)
    return found


def _hazards(tasks: Tasks, gate: Gate) -> tuple[IntColumn, IntColumn, IntColumn]:
    """Derive the lists of an `Order`, node by node, or in one compiled loop."""
    stripes = tasks.stripes
    boundaries = stripes.grid + 1
    if stripes.schedule.nodes * boundaries <= MOST_CELLS:
        quick = compiled(loops.hazards, len(tasks))
        if quick is not None:
            return quick(_all_accesses(tasks, gate), stripes.schedule.nodes, boundaries, len(tasks))
    counts = np.zeros(len(tasks), np.int32)
    begins = np.zeros(len(tasks), np.int32)
    lists = [np.empty(0, np.int32)]
    length = 0
    for stripe, sends in _accesses(tasks):
        low = np.where(sends, stripes.source_lo[stripe], stripes.target_lo[stripe])
        high = np.where(sends, stripes.source_hi[stripe], stripes.target_hi[stripe])
        indptr, awaited = dependencies(low, high, ~sends)
        access = np.repeat(np.arange(len(stripe)), np.diff(indptr))
        # By the access that is awaited; packed as above.
        packed = np.sort(awaited << 32 | access)
        access = packed & 0xFFFFFFFF

        ends = np.where(sends, tasks.first[stripe], tasks.landing[stripe])
        begin_with = ends if gate is Gate.LANDING else tasks.first[stripe]
        of_access = np.bincount(packed >> 32, minlength=len(stripe))
        counts[ends] = of_access
        begins[ends] = length + np.cumsum(of_access) - of_access
        lists.append(begin_with[access])
        length += len(access)
    return np.concatenate(lists), begins, counts


def _all_accesses(tasks: Tasks, gate: Gate) -> loops.Accesses:
    stripes, columns = tasks.stripes, tasks.stripes.schedule.columns
    return loops.Accesses(
        node=(columns.source[stripes.transfer], columns.target[stripes.transfer]),
        low=(stripes.source_lo, stripes.target_lo),
        high=(stripes.source_hi, stripes.target_hi),
        task=(tasks.first, tasks.landing),
        waits=(tasks.first, tasks.landing if gate is Gate.LANDING else tasks.first),
    )


def _accesses(tasks: Tasks) -> Iterator[tuple[Wide, NDArray[np.bool_]]]:
    """Yield, node by node, the stripes it sends or receives, in program order, and whether it sends them."""
    columns, transfer = tasks.stripes.schedule.columns, tasks.stripes.transfer
    stripe = np.arange(len(transfer), dtype=np.int64)
    sending = columns.source[transfer].astype(np.int64) << 33 | stripe << 1 | 1
    receiving = columns.target[transfer].astype(np.int64) << 33 | stripe << 1
    packed = np.sort(np.concatenate([sending, receiving]))
    nodes = np.searchsorted(packed >> 33, np.arange(tasks.stripes.schedule.nodes + 1))
    for begin, end in zip(nodes[:-1].tolist(), nodes[1:].tolist(), strict=True):
        of_node = packed[begin:end]
        yield of_node >> 1 & 0xFFFFFFFF, (of_node & 1).astype(np.bool_)
