"""Balance: the load is spread over what is left (paper 1, R2CC, arXiv 2512.25059, figure 5).

Figure 5: "after HotRepair, R2CC redistributes the repaired traffic across the remaining healthy paths to
avoid overloading a single path". The schedule stays as it is; only the cut of its transfers into stripes
changes. On every hop each rail gets a part in proportion to what it can carry, which is what the slower of
its two NICs can, so that all rails of the hop end together. One dead rail of g then costs 1/(g-1) more time,
not twice the time as after HotRepair.

Where a hop has no common live rail, its stripes go as HotRepair routes them, through nodes that share a rail
with each end: over such of those routes as have no NIC in common, in proportion to the slowest NIC of each.

Not handled here: each hop is balanced by itself, so what a relay carries for others is not taken off its own
shares; and which nodes are neighbours is for the schedule to say (`algorithms.re_ranking`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from algorithms.hot_repair import repaired_route
from algorithms.nic import Hop, Nic, nics_of
from algorithms.schedule import Schedule
from algorithms.shares import HopKind, Share, stripes_by_shares, whole_weights
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError


def balance_mapping(schedule: Schedule, rates: Sequence[Sequence[Fraction]]) -> Stripes:
    """Spread every transfer over the rails it may use, in proportion to what they can carry.

    Shares are exact on a refined grid while that stays below `GRID_LIMIT`. Beyond, the boundaries between
    stripes are rounded to the finest grid there is, so that each share is off by less than one step of it.

    Args:
        schedule: What to map.
        rates: `rates[node][rail]`, what each NIC can carry in each direction, in any unit; 0 for a dead one.

    Returns:
        The stripes, those of one transfer in the order of their home rails. Each goes straight over its home
        rail, except on hops whose rails are all dead at one end or the other (see above).

    Raises:
        ScheduleError: The rates are no table of one row per node, a transfer asks for a rail that does not
            exist, or the live rails do not connect two nodes that must talk; names the groups of nodes that
            are cut off from each other.
    """
    network = _Network(rates, schedule.nodes)
    return stripes_by_shares(schedule, network.rails, network.shares)


class _Network:
    """The rates as whole numbers, which are quicker, and what follows from them for a hop."""

    def __init__(self, rates: Sequence[Sequence[Fraction]], nodes: int) -> None:
        table = [[Fraction(rate) for rate in of_node] for of_node in rates]
        if len(table) != nodes or not table[0] or len({len(of_node) for of_node in table}) > 1:
            widths = sorted({len(of_node) for of_node in table})
            raise ScheduleError(
                f"rates of {len(table)} nodes with {widths} rails: give {nodes} nodes of equally many rails"
            )
        unit = math.lcm(*(rate.denominator for of_node in table for rate in of_node))
        self.nodes, self.rails = nodes, len(table[0])
        self._rates = [[int(rate * unit) for rate in of_node] for of_node in table]
        nics = (Nic(node, rail) for node in range(nodes) for rail in range(self.rails))
        self._dead = {nic for nic in nics if not table[nic.node][nic.rail]}
        for node, of_node in enumerate(self._rates):
            if min(of_node) < 0:
                raise ScheduleError(f"{Nic(node, of_node.index(min(of_node)))}: a rate below zero")

    def shares(self, hop: HopKind) -> list[Share]:
        """Share a hop out among the rails it may use, in the order of the home rails; no weight is 0."""
        here, there = self._rates[hop.source], self._rates[hop.target]
        direct = [rail for rail in hop.allowed if here[rail] and there[rail]]
        found = [Share(rail, (Hop(rail, hop.target),), min(here[rail], there[rail])) for rail in direct]
        if not direct:
            found = self._detours(hop)
        weights = whole_weights([share.weight for share in found])
        return [share._replace(weight=weight) for share, weight in zip(found, weights, strict=True)]

    def _detours(self, hop: HopKind) -> list[Share]:
        """Take some of HotRepair's routes, such that no NIC serves two of them.

        A walk round the rails takes every route that it can; it begins where that yields most.
        """
        source, target, allowed = hop
        routes = {
            home: repaired_route(source, target, home, nodes=self.nodes, rails=self.rails, dead=self._dead)
            for home in allowed
        }
        homes = sorted(routes, key=lambda home: (routes[home][0].rail != home, home))
        best: list[Share] = []
        for start in range(len(allowed)):
            found, used = [], set[Nic]()
            for home in (*allowed[start:], *allowed[:start]):
                nics = {nic for ends in nics_of(source, routes[home]) for nic in ends}
                if used.isdisjoint(nics):
                    used |= nics
                    # If rails have the same route, home is the one it begins with: no hand-over in the node.
                    owner = next(one for one in homes if routes[one] == routes[home])
                    slowest = min(self._rates[nic.node][nic.rail] for nic in nics)
                    found.append(Share(owner, routes[home], slowest))
            best = max(best, found, key=lambda shares: sum(share.weight for share in shares))
        return sorted(best, key=lambda share: share.home)
