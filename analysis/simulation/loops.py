"""The loops that take the time, one stripe or task after another: for numba to compile.

They do what `order` does node by node and `ports` instant by instant, to the tick, in the part of Python that
numba compiles (`accelerator`). As plain Python they would take several times as long as NumPy, which handles
many elements at once.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import IntColumn

NONE = -1
"""No task, no port, no link: as in `tasks`, whose constant a compiled function cannot see."""


def followers(group: IntColumn, tasks: IntColumn, groups: int, size: int) -> IntColumn:
    """Name for each of these tasks the next one of the same group.

    Args:
        group: 0 to groups - 1, for each of `tasks`.
        tasks: In the order in which they follow each other.
        groups: Number of groups.
        size: Number of all tasks.

    Returns:
        Per task the one that follows, or NONE.
    """
    following = np.full(size, NONE, np.int32)
    latest = np.full(groups, NONE, np.int32)
    for row in range(len(tasks)):
        if latest[group[row]] != NONE:
            following[latest[group[row]]] = tasks[row]
        latest[group[row]] = tasks[row]
    return following


class Accesses(NamedTuple):
    """The accesses to the nodes' buffers: per stripe, in program order, one that reads and one that writes.

    Attributes:
        node: (2, stripes): the source, which reads, and the target, which writes.
        low: (2, stripes): where the regions begin, 0 to boundaries - 1.
        high: (2, stripes): where they end (exclusive).
        task: (2, stripes): the task at whose end the access is over.
        waits: (2, stripes): the task that waits for earlier accesses.
    """

    node: tuple[IntColumn, IntColumn]
    low: tuple[IntColumn, IntColumn]
    high: tuple[IntColumn, IntColumn]
    task: tuple[IntColumn, IntColumn]
    waits: tuple[IntColumn, IntColumn]


def hazards(
    accesses: Accesses, nodes: int, boundaries: int, size: int
) -> tuple[IntColumn, IntColumn, IntColumn]:
    """List which task waits for which because both access one node's buffer; see `algorithms.hazards`.

    Args:
        accesses: Who reads and writes what.
        nodes: Number of nodes.
        boundaries: Number of values that regions may begin and end at.
        size: Number of tasks.

    Returns:
        (waiting, begins, counts): waiting[begins[t]:begins[t]+counts[t]] wait for task t, each once, in
        program order.
    """
    node, low, high, task, waits = accesses
    cell_at, cells = _number_cells(accesses, nodes, boundaries)
    links = 0
    for side in range(2):
        for stripe in range(len(node[side])):
            of_node = cell_at[node[side][stripe]]
            links += of_node[high[side][stripe]] - of_node[low[side][stripe]]
    # A cell's chain of links goes from its latest access back to the one that wrote it last.
    latest, written = np.full(cells, NONE, np.int32), np.full(cells, NONE, np.int32)
    accessing, before = np.empty(links, np.int32), np.empty(links, np.int32)
    # The access that waited for a task last: a pair counts once, however many cells it shares.
    awaited_by = np.full(size, NONE, np.int32)
    # Each link waits for one that wrote, and is waited for by one that writes, at most.
    awaited, waiting = np.empty(2 * links, np.int32), np.empty(2 * links, np.int32)
    pairs = links = 0
    for access in range(2 * len(node[0])):
        stripe, writes = access >> 1, access & 1
        of_node = cell_at[node[writes][stripe]]
        for cell in range(of_node[low[writes][stripe]], of_node[high[writes][stripe]]):
            link = latest[cell] if writes else written[cell]
            while link != NONE:
                if awaited_by[accessing[link]] != access:
                    awaited_by[accessing[link]] = access
                    awaited[pairs], waiting[pairs] = accessing[link], waits[writes][stripe]
                    pairs += 1
                link = before[link]
            accessing[links], before[links] = task[writes][stripe], NONE if writes else latest[cell]
            latest[cell] = links
            if writes:
                written[cell] = links
            links += 1
    return _grouped(awaited[:pairs], waiting[:pairs], size)


def _number_cells(accesses: Accesses, nodes: int, boundaries: int) -> tuple[NDArray[np.int32], int]:
    """Number the cells, the pieces of each node's buffer between two neighbouring boundaries there.

    Returns:
        For each node and boundary, if it occurs, the cell that begins there; and how many cells there are.
    """
    node, low, high = accesses.node, accesses.low, accesses.high
    cell_at = np.zeros((nodes, boundaries), np.int32)
    for side in range(2):
        for stripe in range(len(node[side])):
            of_node = cell_at[node[side][stripe]]
            of_node[low[side][stripe]] = of_node[high[side][stripe]] = 1
    cells = 0
    for of_node in cell_at:
        for boundary in range(boundaries):
            occurs = of_node[boundary]
            of_node[boundary] = cells
            cells += occurs
    return cell_at, cells


def _grouped(keys: IntColumn, values: IntColumn, size: int) -> tuple[IntColumn, IntColumn, IntColumn]:
    """Put the values of each key, 0 to size - 1, together: they are values[begins[k]:begins[k]+counts[k]]."""
    counts, begins = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for key in keys:
        counts[key] += 1
    for key in range(1, size):
        begins[key] = begins[key - 1] + counts[key - 1]
    together, filled = np.empty(len(values), np.int32), begins.copy()
    for row in range(len(keys)):
        together[filled[keys[row]]] = values[row]
        filled[keys[row]] += 1
    return together, begins, counts


class Waiting(NamedTuple):
    """What waits for a task's end: the columns of an `order.Order`."""

    followers: tuple[IntColumn, ...]
    waiting: IntColumn
    begins: IntColumn
    counts: IntColumn


class _State(NamedTuple):
    """How far a simulation has come.

    Attributes:
        one: Per task a port it occupies, or NONE.
        other: The other port, or the same one again.
        reasons: Per task how many ends it waits for.
        start: Per task when it started, or NONE.
        end: Per task when it ends, or NONE.
        chained: Per task one that ends at the same time, or NONE.
        is_free: Per port.
        first: Per port the first of those that ask for it.
        asking: The tasks that ask for ports; how many is counted elsewhere.
        ended: Those that ended at this instant; the same.
    """

    one: IntColumn
    other: IntColumn
    reasons: IntColumn
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    chained: IntColumn
    is_free: NDArray[np.bool_]
    first: IntColumn
    asking: IntColumn
    ended: IntColumn


def play(
    ports: tuple[IntColumn, IntColumn], durations: NDArray[np.int64], waiting: Waiting, port_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Play tasks to the end; see `analysis.simulation.ports`.

    Args:
        ports: Per task the two ports it occupies, the same one twice, or NONE.
        durations: Per task how long it occupies them, in ticks.
        waiting: What waits for its end.
        port_count: Number of ports.

    Returns:
        Per task when it started and when it ended, NONE if it waits for ever.
    """
    size = len(durations)
    one, other = ports
    is_free = np.ones(port_count, np.bool_)
    asking, ended = np.empty(size, np.int32), np.empty(size, np.int32)
    reasons, chained = _count_reasons(waiting, size), np.full(size, NONE, np.int32)
    start, end = np.full(size, NONE, np.int64), np.full(size, NONE, np.int64)
    first = np.empty(port_count, np.int32)
    state = _State(one, other, reasons, start, end, chained, is_free, first, asking, ended)
    # What waits for nothing has ports: a landing, the one kind without, comes after a hop.
    at_once = np.flatnonzero(reasons == 0)
    asks = len(at_once)
    asking[:asks] = at_once
    # The heap holds when tasks end, and the first one of a chain: most that begin together end together.
    ending = [(np.int64(0), np.int32(NONE))]
    while ending:
        now = ending[0][0]
        ends = 0
        while ending and ending[0][0] == now:
            task = heapq.heappop(ending)[1]
            while task != NONE:
                is_free[one[task]] = is_free[other[task]] = True
                ended[ends] = task
                ends += 1
                task = chained[task]
        asks = _release(state, waiting, now, asks, ends)
        asks = _give_out_ports(state, durations, now, asks, ending)
    return start, end


def _count_reasons(waiting: Waiting, size: int) -> IntColumn:
    """Count, per task, the ends that it waits for."""
    reasons = np.zeros(size, np.int32)
    for task in waiting.waiting:
        reasons[task] += 1
    for column in waiting.followers:
        for task in column:
            if task != NONE:
                reasons[task] += 1
    return reasons


def _release(state: _State, waiting: Waiting, now: np.int64, asks: int, ends: int) -> int:
    """Let go what waited for the tasks that ended, and for nothing else; what needs no port ends at once."""
    # Looking into the tuples again and again would cost more than the work.
    columns, waits, begins, counts = waiting
    port, reasons, start, end = state.one, state.reasons, state.start, state.end
    asking, ended = state.asking, state.ended
    released = 0
    while released < ends:
        task = ended[released]
        released += 1
        begin, count = begins[task], counts[task]
        for place in range(count + len(columns)):
            one = waits[begin + place] if place < count else columns[place - count][task]
            if one != NONE:
                reasons[one] -= 1
                if reasons[one] > 0:
                    continue
                if port[one] == NONE:
                    start[one] = end[one] = now
                    ended[ends] = one
                    ends += 1
                else:
                    asking[asks] = one
                    asks += 1
    return asks


def _give_out_ports(
    state: _State,
    durations: NDArray[np.int64],
    now: np.int64,
    asks: int,
    ending: list[tuple[np.int64, np.int32]],
) -> int:
    """Start, in program order, every task whose ports are free when its turn comes.

    What comes first at both its ports starts for sure. Then others come first, until nobody starts any more.
    """
    one, other, _, start, end, chained, is_free, first, asking, _ = state
    last, waited = NONE, asks + 1
    while asks < waited:
        for task in asking[:asks]:
            first[one[task]] = first[other[task]] = len(durations)
        for task in asking[:asks]:
            if is_free[one[task]] and is_free[other[task]]:
                first[one[task]] = min(first[one[task]], task)
                first[other[task]] = min(first[other[task]], task)
        waited, asks = asks, 0
        for task in asking[:waited]:
            if first[one[task]] != task or first[other[task]] != task:
                asking[asks] = task
                asks += 1
                continue
            is_free[one[task]] = is_free[other[task]] = False
            start[task], end[task] = now, now + durations[task]
            if last != NONE and end[last] == end[task]:
                chained[last] = task
            else:
                heapq.heappush(ending, (end[task], task))
            last = task
    return asks


HELPERS = (_number_cells, _grouped, _count_reasons, _release, _give_out_ports)
"""What the other functions here call: to be compiled with them."""
