"""Ring allreduce: reduce-scatter around a ring, then all-gather around the same ring.

The region is cut into as many equal sections as the ring has members. Loads: every member sends and receives
2 (n-1)/n of the data, the least any allreduce can do with n equal members (derived by counting: n-1 steps of
1/n in each half).

Phases, for n members:

1. Reduce-scatter, n-1 steps. In step k member i sends section (i-k) mod n to member i+1, which adds it to its
   own. After them member i owns the finished section (i+1) mod n.
2. All-gather, n-1 steps. In step k member i sends section (i+1-k) mod n, which is finished, to member i+1.

Baseline of both papers (R2CC, arXiv 2512.25059; OptCC, arXiv 2606.01680). Does not know of failures: a
degraded member slows every step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from algorithms.collective import all_gather, allreduce, reduce_scatter
from algorithms.schedule import Region, Schedule, ScheduleBuilder, ScheduleError


def ring_reduce_scatter(builder: ScheduleBuilder, members: Sequence[int], region: Region) -> None:
    """Append a reduce-scatter of `region` over the ring of `members`.

    Args:
        builder: Receives n-1 steps of n transfers each.
        members: The n nodes in the order of the ring; the last one sends to the first.
        region: Cut into n equal sections. Afterwards member i owns section (i+1) mod n.

    Raises:
        ScheduleError: A node occurs twice, or the region does not divide into n sections.
    """
    side_by_side(_half(builder, members, region, is_reduce=True))


def ring_all_gather(builder: ScheduleBuilder, members: Sequence[int], region: Region) -> None:
    """Append an all-gather of `region` over the ring of `members`: what is left after `ring_reduce_scatter`.

    Args:
        builder: Receives n-1 steps of n transfers each.
        members: The n nodes in the order of the ring; the last one sends to the first.
        region: Cut into n equal sections, of which member i owns section (i+1) mod n at the start.

    Raises:
        ScheduleError: A node occurs twice, or the region does not divide into n sections.
    """
    side_by_side(_half(builder, members, region, is_reduce=False))


def ring_allreduce(nodes: int, order: Sequence[int] | None = None) -> Schedule:
    """Write the ring allreduce over all nodes.

    Args:
        nodes: n, at least 1. A single node has nothing to do: the schedule is empty.
        order: The nodes in the order of the ring (see `algorithms.re_ranking`); None: 0, 1, ..., n-1.

    Raises:
        ScheduleError: The order does not name every node once.

    >>> for transfer in ring_allreduce(2):
    ...     print(transfer)
    transfer 0 (reduce-scatter): node 0 -> node 1, reduce [0, 1)
    transfer 1 (reduce-scatter): node 1 -> node 0, reduce [1, 2)
    transfer 2 (all-gather): node 0 -> node 1, copy [1, 2)
    transfer 3 (all-gather): node 1 -> node 0, copy [0, 1)
    """
    builder = ScheduleBuilder(nodes, grid=nodes)
    side_by_side(allreduce_steps(builder, ring_order(nodes, order), (0, nodes)))
    return builder.build(allreduce(nodes, nodes))


def ring_order(nodes: int, order: Sequence[int] | None) -> list[int]:
    """Return the order of a ring over all nodes: the one given, or that of their numbers.

    Raises:
        ScheduleError: The order does not name every node once.
    """
    ring = list(range(nodes) if order is None else order)
    if sorted(ring) != list(range(nodes)):
        raise ScheduleError(f"order {ring} does not name each of the nodes 0..{nodes - 1} once")
    return ring


def allreduce_steps(
    builder: ScheduleBuilder,
    members: Sequence[int],
    region: Region,
    *,
    rails: Collection[int] | None = None,
    name: str = "",
) -> Iterator[None]:
    """Append the allreduce of `region` over the ring of `members`, one step each time.

    Args:
        builder: Receives 2 (n-1) steps of n transfers each.
        members: The n nodes in the order of the ring.
        region: Cut into n equal sections.
        rails: The rails that may carry it; None means all.
        name: Put before the labels of the two halves, "reduce-scatter" and "all-gather".

    Raises:
        ScheduleError: A node occurs twice, or the region does not divide into n sections.
    """
    label = f"{name} " if name else ""
    for is_reduce in (True, False):
        yield from _half(builder, members, region, is_reduce=is_reduce, rails=rails, name=label)


def side_by_side(*rings: Iterator[None]) -> None:
    """Let rings that run at once take turns: the first step of each, then the second of each, and so on.

    In program order neither then stands behind the other, so a port that both use serves them alike.
    """
    for _ in zip_longest(*rings):
        pass


def ring_reduce_scatter_schedule(nodes: int) -> Schedule:
    """Write a reduce-scatter in which node i ends up with section i.

    Member i of a ring ends up with section i+1, so the ring starts at node 1.
    """
    builder = ScheduleBuilder(nodes, grid=nodes)
    ring_reduce_scatter(builder, _ring_from_node_1(nodes), (0, nodes))
    return builder.build(reduce_scatter(nodes, nodes))


def ring_all_gather_schedule(nodes: int) -> Schedule:
    """Write an all-gather to which node i brings section i (the ring starts at node 1, as above)."""
    builder = ScheduleBuilder(nodes, grid=nodes)
    ring_all_gather(builder, _ring_from_node_1(nodes), (0, nodes))
    return builder.build(all_gather(nodes, nodes))


def _half(
    builder: ScheduleBuilder,
    members: Sequence[int],
    region: Region,
    *,
    is_reduce: bool,
    rails: Collection[int] | None = None,
    name: str = "",
) -> Iterator[None]:
    """Append the reduce-scatter or the all-gather, one step each time the caller asks for the next.

    They differ in the section with which a member begins: its own, or the next, which it has finished.
    """
    n = len(members)
    ring, successor, boundary = _ring(members, region)
    begin = np.arange(n) if is_reduce else np.arange(n) + 1
    for k in range(n - 1):
        section = (begin - k) % n
        builder.step(
            stage=f"{name}{'reduce-scatter' if is_reduce else 'all-gather'}",
            source=ring,
            target=successor,
            lo=boundary[section],
            hi=boundary[section + 1],
            reduce=is_reduce,
            rails=rails,
        )
        yield


def _ring_from_node_1(nodes: int) -> list[int]:
    return [*range(1, nodes), 0]


def _ring(
    members: Sequence[int], region: Region
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return each member's node, its successor's node, and the n+1 boundaries of the sections."""
    n = len(members)
    low, high = region
    if n == 0 or len(set(members)) != n:
        raise ScheduleError(f"a ring needs distinct members, not {list(members)}")
    if (high - low) % n:
        raise ScheduleError(f"region [{low}, {high}) does not divide into {n} sections, one per ring member")
    ring = np.array(members, np.int64)
    return ring, np.roll(ring, -1), low + np.arange(n + 1) * ((high - low) // n)
