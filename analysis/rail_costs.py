"""Times of the ring after any failures, on rails: HotRepair and Balance. Input is what every NIC can carry.

Times are in D/B, exact. Traffic stays on its rail (a rail is one network plane), so a hop u -> v has on rail
r what the slower of the two NICs has. Not handled here: latency (`analysis.with_alpha`), and schemes that are
not one ring over all nodes (`analysis.two_stage`, `analysis.straggler`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from algorithms.nic import Nic
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.repaired_ring import RepairedRing, repaired_ring


def hot_repair(rates: RailRates) -> Fraction | None:
    """Time of the ring over nodes 0, 1, ..., n-1 after HotRepair.

    Source: figure 4 of paper 1; the general form is derived here. A NIC that serves s shares at the fraction
        c of a healthy NIC's rate takes s/c times as long as in the healthy ring, and the slowest NIC sets the
        time. HotRepair routes around dead NICs; it does not see that a NIC is slow, so a slow one keeps what
        it carries.

    Args:
        rates: What every NIC can carry.

    Returns:
        The time in D/B; None if the live rails do not connect all nodes.

    >>> hot_repair(RailRates.of(4, 8, dead=[Nic(2, 5)])) / Fraction(2 * 3, 4)
    Fraction(2, 1)
    """
    if len(rates.groups()) > 1:
        return None
    shares = repaired_ring(rates.nodes, rates.rails, rates.dead())
    return Fraction(2 * (rates.nodes - 1), rates.nodes) * max(share_times(rates, shares).values(), default=0)


def share_times(rates: RailRates, shares: RepairedRing) -> dict[Nic, Fraction]:
    """How many times longer than in the healthy ring each NIC in use is busy: shares over its rate in 1/g."""
    return {nic: count / (rates.rate(nic) * rates.rails) for nic, count in shares.busier().items()}


def balance(rates: RailRates, order: Sequence[int] | None = None) -> Fraction | None:
    """Time of the ring after Balance: on every hop the load is spread over what that hop can carry.

    Source: figure 5 of paper 1 (the repaired traffic is spread over the remaining healthy paths); for
        several failures derived here. The time is that of the healthy ring over the capacity of the
        narrowest hop. It depends on the order of the ring, which is what the paper's logical re-ranking
        (figure 18) is for.

    Args:
        rates: What every NIC can carry.
        order: The nodes in the order of the ring; None: 0, 1, ..., n-1.

    Returns:
        The time in D/B; None if some hop has no rail that is live at both ends.

    Raises:
        ModelError: The order does not name every node once.

    >>> cluster = RailRates.of(4, 4, dead=[Nic(0, 0), Nic(1, 1)])
    >>> balance(cluster), balance(cluster, order=[0, 2, 1, 3])
    (Fraction(3, 1), Fraction(2, 1))
    """
    n = rates.nodes
    capacities = hop_capacities(rates, order)
    if n == 1:
        return Fraction(0)
    return Fraction(2 * (n - 1), n) / min(capacities) if min(capacities) else None


def hop_capacities(rates: RailRates, order: Sequence[int] | None = None) -> list[Fraction]:
    """Capacity of each hop of a ring, as a fraction of B: what both ends can carry, summed over the rails.

    Args:
        rates: What every NIC can carry.
        order: The nodes in the order of the ring; None: 0, 1, ..., n-1.

    Returns:
        For each place in the order the capacity of the hop to the next place; the last one leads back to the
        first.

    Raises:
        ModelError: The order does not name every node once.
    """
    ring = list(range(rates.nodes)) if order is None else list(order)
    if sorted(ring) != list(range(rates.nodes)):
        raise ModelError(f"order {ring} does not name each of the nodes 0..{rates.nodes - 1} once")
    return [
        sum(map(min, rates.rates[here], rates.rates[there]), Fraction(0))
        for here, there in zip(ring, [*ring[1:], ring[0]], strict=True)
    ]
