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

from collections.abc import Sequence

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
    n = len(members)
    ring, successor, boundary = _ring(members, region)
    member = np.arange(n)
    for k in range(n - 1):
        section = (member - k) % n
        builder.step(
            stage="reduce-scatter",
            source=ring,
            target=successor,
            lo=boundary[section],
            hi=boundary[section + 1],
            reduce=True,
        )


def ring_all_gather(builder: ScheduleBuilder, members: Sequence[int], region: Region) -> None:
    """Append an all-gather of `region` over the ring of `members`: what is left after `ring_reduce_scatter`.

    Args:
        builder: Receives n-1 steps of n transfers each.
        members: The n nodes in the order of the ring; the last one sends to the first.
        region: Cut into n equal sections, of which member i owns section (i+1) mod n at the start.

    Raises:
        ScheduleError: A node occurs twice, or the region does not divide into n sections.
    """
    n = len(members)
    ring, successor, boundary = _ring(members, region)
    member = np.arange(n)
    for k in range(n - 1):
        section = (member + 1 - k) % n
        builder.step(
            stage="all-gather",
            source=ring,
            target=successor,
            lo=boundary[section],
            hi=boundary[section + 1],
            reduce=False,
        )


def ring_allreduce(nodes: int) -> Schedule:
    """Write the ring allreduce over all nodes, in the order of their numbers.

    Args:
        nodes: n, at least 1. A single node has nothing to do: the schedule is empty.

    >>> for transfer in ring_allreduce(2):
    ...     print(transfer)
    transfer 0 (reduce-scatter): node 0 -> node 1, reduce [0, 1)
    transfer 1 (reduce-scatter): node 1 -> node 0, reduce [1, 2)
    transfer 2 (all-gather): node 0 -> node 1, copy [1, 2)
    transfer 3 (all-gather): node 1 -> node 0, copy [0, 1)
    """
    builder = ScheduleBuilder(nodes, grid=nodes)
    ring_reduce_scatter(builder, range(nodes), (0, nodes))
    ring_all_gather(builder, range(nodes), (0, nodes))
    return builder.build(allreduce(nodes, nodes))


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
