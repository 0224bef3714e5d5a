"""Closed forms for the completion time of an allreduce, in units of D/B.

D is the data per node in bytes, B the bandwidth of a node, one direction, over all its rails together; a rail
has B/g. Times are exact fractions. They count bytes on the busiest NIC only: no latency (that is
`analysis.with_alpha`), every rail busy in each direction all the time. `seconds` turns them into a time one
can measure.

The place to start. What needs more words has its own file and is offered here too: R2CC-AllReduce in
`analysis.two_stage`, OptCC in `analysis.straggler`, any failures on rails in `analysis.rail_costs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from algorithms.nic import Nic
from analysis.exact import Exact, exact
from analysis.inputs import lost_fraction, whole
from analysis.rail_costs import share_times
from analysis.rail_rates import RailRates
from analysis.repaired_ring import repaired_ring
from analysis.straggler import mixture_share, optcc
from analysis.two_stage import Stages, least_pieces, r2cc_allreduce, stages, threshold

__all__ = [
    "Stages",
    "balance",
    "hot_repair",
    "least_pieces",
    "mixture_share",
    "optcc",
    "overhead",
    "r2cc_allreduce",
    "ring",
    "seconds",
    "stages",
    "threshold",
]


def ring(n: int) -> Fraction:
    """Time of the ring allreduce on n healthy nodes, T_nf: 2 (n-1)/n.

    Source: counting. Each node sends and receives 1/n of the data in each of 2 (n-1) steps, evenly over its
        rails.

    Raises:
        ModelError: There is no node.
    """
    n = whole(n, "n", 1)
    return Fraction(2 * (n - 1), n)


def overhead(time: Exact, n: int) -> Fraction:
    """How much longer than the healthy ring: time / T_nf - 1.

    Args:
        time: In D/B.
        n: Number of nodes, at least 2.

    Raises:
        ModelError: An argument is out of range.

    >>> overhead(balance(4, Fraction(1, 8)), 4)
    Fraction(1, 7)
    """
    return exact(time, "time") / ring(whole(n, "n", 2)) - 1


def balance(n: int, lost: Exact) -> Fraction:
    """Time of the ring allreduce after Balance, one degraded node: T_nf / (1-X).

    Source: figure 5 of paper 1. The degraded node's traffic is spread over the bandwidth it still has; its
        two hops set the pace. Any failures: `rail_costs.balance`.

    Args:
        n: Number of nodes, at least 1.
        lost: X, the part of its bandwidth that the degraded node lost, from 0 to less than 1.

    Raises:
        ModelError: An argument is out of range.
    """
    return ring(n) / (1 - lost_fraction(lost))


def hot_repair(
    n: int, rails: int, dead: Collection[Nic], slow: Mapping[Nic, Fraction] | None = None
) -> Fraction:
    """Time of the ring allreduce after HotRepair: that of the healthy ring times the most shares on one NIC.

    A share is what one rail carries on one hop of the healthy ring. HotRepair moves shares as a whole, so a
    NIC that serves s of them in one direction takes s times as long. One dead NIC and a backup rail: 2
    (figure 4 of paper 1, R2CC; the general form is derived here). A relay serves its own shares and those it
    passes on. A slow NIC keeps its shares and takes longer for them.

    Args:
        n: Number of nodes, in the order of the ring.
        rails: g, rails per node.
        dead: The NICs that failed.
        slow: NICs that run at a fraction of their rate.

    Returns:
        The time; that of `ring` if no NIC failed.

    Raises:
        ScheduleError: A NIC does not exist, or the live rails do not connect two neighbours of the ring
            (`rail_costs.hot_repair` returns None then).

    >>> hot_repair(4, rails=8, dead=[Nic(node=2, rail=5)]) / ring(4)
    Fraction(2, 1)
    """
    rates = RailRates.of(n, rails, dead, slow)
    shares = repaired_ring(n, rails, rates.dead())
    return ring(n) * max(share_times(rates, shares).values(), default=1)


def seconds(time: Fraction, data_bytes: int, node_bandwidth_bytes_per_s: float) -> float:
    """Convert a time in units of D/B to seconds.

    Args:
        time: In units of D/B, as the functions of this module return it.
        data_bytes: D, the data per node.
        node_bandwidth_bytes_per_s: B, of one node in one direction, all rails together.
    """
    return float(time) * data_bytes / node_bandwidth_bytes_per_s
