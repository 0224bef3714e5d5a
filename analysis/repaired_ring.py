"""Where HotRepair puts the ring's shares: how many each NIC serves, and over how many hops.

A *share* is what one rail carries on one hop of the healthy ring: 1/g of what a node sends. HotRepair moves
shares as a whole (`algorithms.hot_repair`), to a backup rail or through relays. A relay serves its own shares
and those it passes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from algorithms.hot_repair import repaired_route
from algorithms.nic import Nic, nics_of


@dataclass(frozen=True)
class RepairedRing:
    """Shares of the repaired ring over nodes 0, 1, ..., n-1.

    Attributes:
        sending: For each NIC how many shares leave through it; a NIC that is not listed serves none.
        receiving: The same for shares that arrive.
        longest: Hops of the longest route; 0 if there is a single node.
    """

    sending: Mapping[Nic, int]
    receiving: Mapping[Nic, int]
    longest: int

    def busier(self) -> dict[Nic, int]:
        """For each NIC in use the shares of its busier direction."""
        nics = sorted({*self.sending, *self.receiving})
        return {nic: max(self.sending.get(nic, 0), self.receiving.get(nic, 0)) for nic in nics}


def repaired_ring(nodes: int, rails: int, dead: Collection[Nic]) -> RepairedRing:
    """Follow every share of the ring over the route that HotRepair gives it.

    Args:
        nodes: n, in the order of the ring.
        rails: g, rails per node.
        dead: The NICs that failed.

    Raises:
        ScheduleError: The live rails do not connect two neighbours of the ring.

    >>> repaired_ring(3, 2, dead=[Nic(1, 0)]).sending[Nic(1, 1)]
    2
    """
    failed = frozenset(dead)
    sending: Counter[Nic] = Counter()
    receiving: Counter[Nic] = Counter()
    longest = 0
    for node in range(nodes if nodes > 1 else 0):
        for home in range(rails):
            route = repaired_route(node, (node + 1) % nodes, home, nodes=nodes, rails=rails, dead=failed)
            departures, arrivals = zip(*nics_of(node, route), strict=True)
            sending.update(departures)
            receiving.update(arrivals)
            longest = max(longest, len(route))
    return RepairedRing(sending, receiving, longest)
