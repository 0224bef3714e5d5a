"""Closed forms for the completion time of an allreduce, in units of D/B.

D is the data per node in bytes, B the bandwidth of a node, one direction, over all its rails together; a rail
has B/g. Times are exact fractions. They count bytes on the busiest NIC only: no latency, every rail busy in
each direction all the time. `seconds` turns them into a time one can measure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fractions import Fraction

from algorithms.hot_repair import repaired_route
from algorithms.nic import Nic, nics_of


def ring(n: int) -> Fraction:
    """Time of the ring allreduce on n healthy nodes: 2 (n-1)/n.

    Source: counting. Each node sends and receives 1/n of the data in each of 2 (n-1) steps, evenly over its
        rails.
    """
    return Fraction(2 * (n - 1), n)


def hot_repair(n: int, rails: int, dead: Collection[Nic]) -> Fraction:
    """Time of the ring allreduce after HotRepair: that of the healthy ring times the most shares on one NIC.

    A share is what one rail carries on one hop of the healthy ring. HotRepair moves shares as a whole, so a
    NIC that serves s of them in one direction takes s times as long. One dead NIC and a backup rail: 2
    (figure 4 of paper 1, R2CC; the general form is derived here). A relay serves its own shares and those it
    passes on.

    Args:
        n: Number of nodes, in the order of the ring.
        rails: g, rails per node.
        dead: The NICs that failed.

    Returns:
        The time; that of `ring` if no NIC failed.

    Raises:
        ScheduleError: The live rails do not connect two neighbours of the ring.

    >>> hot_repair(4, rails=8, dead=[Nic(node=2, rail=5)]) / ring(4)
    Fraction(2, 1)
    """
    if n == 1:
        return ring(n)
    failed = frozenset(dead)
    sending: Counter[Nic] = Counter()
    receiving: Counter[Nic] = Counter()
    for node in range(n):
        for home in range(rails):
            route = repaired_route(node, (node + 1) % n, home, nodes=n, rails=rails, dead=failed)
            departures, arrivals = zip(*nics_of(node, route), strict=True)
            sending.update(departures)
            receiving.update(arrivals)
    return ring(n) * max(*sending.values(), *receiving.values())


def seconds(time: Fraction, data_bytes: int, node_bandwidth_bytes_per_s: float) -> float:
    """Convert a time in units of D/B to seconds.

    Args:
        time: In units of D/B, as the functions of this module return it.
        data_bytes: D, the data per node.
        node_bandwidth_bytes_per_s: B, of one node in one direction, all rails together.
    """
    return float(time) * data_bytes / node_bandwidth_bytes_per_s
