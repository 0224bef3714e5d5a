"""The least time any allreduce takes on rails, T*, for any set of dead and slow NICs.

Links join NICs of the same rail only, and a node may pass on what it received. Times are in units of D/B.

**Bound.** Group the nodes into q >= 2 parts. Between parts at least 2 (q-1) D must move (see
`analysis.lower_bound`: take each part for one node). What moves between parts on rail r leaves one part and
enters another, so in time T it is at most `T S_r`, with S_r the rate of all NICs on the rail together. It
also leaves or enters a node outside the largest part, so it is at most `T 2 (S_r - A_r)`, with A_r the rate
of that part on the rail. Hence, for each partition P,

    T >= 2 (q-1) / sum over rails of min(S_r, 2 (S_r - A_r(P))).

**It is reached.** Pack spanning trees, each with links on any rails; on each tree a part of the data is
reduced upward and broadcast downward, so every link costs both its NICs the part once in each direction. Let
x_r(u, v) be the part of the data that link uses, per unit of time. By the theorem of Tutte and Nash-Williams
trees of total weight tau exist iff links of weight `tau (q-1)` run between the parts of every partition.

Maximise tau over x, and look at a dual solution: weights on partitions. If P and Q have weight, move it to
their meet (the common refinement) and their join: the sum of q-1 does not fall, and no two nodes are parted
by a larger weight than before. So some optimal weights lie on a chain of ever finer partitions. On each rail
one x makes what runs between parts as large as it can be for the whole chain at once: take the finest of its
partitions in which a part M still has more than half of S_r. Join all outside M to nodes in M, and the rest
of M across the parts of the next finer partition; as none of those has more than half, this works out. So the
dual value is linear along the chain, and a single partition reaches it. Its value is the bound above, and T*
is the largest of these bounds.

Source: the formula and the proof are derived here; neither paper has them. Three functions compute it:
`by_partitions` tries every partition, `by_linear_program` packs the trees and knows no partition, `optimum`
is fast and what everything else uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from analysis.errors import ModelError
from analysis.rail_flow import INFINITE, by_linear_program
from analysis.rail_rates import RailRates
from analysis.tightest_partition import Partition, crossing_rate, tightest_partition

__all__ = ["INFINITE", "RailBound", "by_linear_program", "by_partitions", "optimum", "partition_time"]

_MOST_NODES = 10
"""Every partition of so many nodes is looked at (115,975 of them); more would take minutes."""


@dataclass(frozen=True)
class RailBound:
    """The least time an allreduce takes on given rails, and what makes it take so long.

    Attributes:
        time: T* in units of D/B; None if it is infinite, since live rails do not connect the nodes.
        partition: The parts between which the traffic binds, each ascending, the one of node 0 first. Of
            several partitions that bind, the finest: each of the others arises from it by joining parts.
            If the time is infinite, the groups of nodes that live rails connect. A single node: one part.
        is_exact: Whether `time` is T* itself. If not, it is below T* or equal, still a valid bound.
    """

    time: Fraction | None
    partition: Partition
    is_exact: bool = True


def partition_time(rates: RailRates, partition: Sequence[Sequence[int]]) -> Fraction | None:
    """Least time that the traffic between the parts of one partition takes.

    Args:
        rates: Rate of every NIC.
        partition: Two parts or more that hold every node once.

    Returns:
        The bound of the head of this file, in units of D/B; None if nothing can move between the parts.

    Raises:
        ModelError: This is not such a partition.

    >>> partition_time(RailRates.of(2, 2), [[0], [1]])
    Fraction(1, 1)
    """
    members = sorted(node for part in partition for node in part)
    if members != list(range(rates.nodes)) or len(partition) < 2 or not all(partition):
        raise ModelError(
            f"{partition} does not divide {rates.nodes} nodes: give two parts or more, with each node once"
        )
    rate = crossing_rate(rates.rates, partition)
    return 2 * (len(partition) - 1) / Fraction(rate) if rate else None


def by_partitions(rates: RailRates) -> RailBound:
    """Compute T* from its definition, by a look at every partition of the nodes.

    Args:
        rates: Rate of every NIC, of at most 10 nodes.

    Raises:
        ModelError: There are more nodes; `optimum` handles them.
    """
    if rates.nodes > _MOST_NODES:
        raise ModelError(
            f"{rates.nodes} nodes have too many partitions to try each: use optimum(), or at most "
            f"{_MOST_NODES} nodes"
        )
    if rates.nodes == 1:
        return _SINGLE_NODE

    def hardness(bound: RailBound) -> tuple[bool, Fraction, int]:
        return bound.time is None, bound.time or Fraction(0), len(bound.partition)

    candidates = (parts for parts in _partitions(rates.nodes) if len(parts) > 1)
    return max((RailBound(partition_time(rates, parts), parts) for parts in candidates), key=hardness)


def optimum(rates: RailRates) -> RailBound:
    """Compute T* for any cluster; 64 nodes and 8 rails, no two alike, take about ten milliseconds.

    The search is that of `analysis.tightest_partition`. Nodes that are alike need no care: the finest
    partition that binds is unique, so exchanging two such nodes does not change it, and those of one kind
    are all in one part or each in a part of its own.

    Args:
        rates: Rate of every NIC.

    Returns:
        The bound. `is_exact` is False only if more than 14 rails differ, other than by a factor, in how
        the failures hit them.

    >>> from algorithms.nic import Nic
    >>> optimum(RailRates.of(3, 2, dead=[Nic(0, 0), Nic(1, 0)]))
    RailBound(time=Fraction(8, 3), partition=((0,), (1,), (2,)), is_exact=True)
    """
    if rates.nodes == 1:
        return _SINGLE_NODE
    groups = rates.groups()
    if len(groups) > 1:
        return RailBound(None, tuple(tuple(group) for group in groups))
    partition, is_exact = tightest_partition(rates.rates)
    return RailBound(partition_time(rates, partition), partition, is_exact)


_SINGLE_NODE = RailBound(Fraction(0), ((0,),))


def _partitions(nodes: int) -> Iterator[Partition]:
    """Yield every partition of nodes 0 to `nodes - 1` once."""
    if nodes == 0:
        yield ()
        return
    last = nodes - 1
    for parts in _partitions(last):
        for index, part in enumerate(parts):
            yield (*parts[:index], (*part, last), *parts[index + 1 :])
        yield (*parts, (last,))
