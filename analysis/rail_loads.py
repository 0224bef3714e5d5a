"""What each NIC has to send and receive, in units of the data. Node by node: `analysis.loads`.

All functions return what `Stripes.rail_loads` returns for a schedule, so that the two can be compared. Where
one node is degraded, it is node 0, and its dead rails are 0, 1, ..., f-1. Exact; independent of K.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from algorithms.nic import Nic
from analysis.errors import ModelError
from analysis.exact import Exact
from analysis.inputs import whole
from analysis.rail_costs import hop_capacities
from analysis.rail_rates import RailRates
from analysis.repaired_ring import repaired_ring
from analysis.two_stage import nodes_and_shares

NicLoads = dict[Nic, tuple[Fraction, Fraction]]
"""For each NIC (sent, received), in D."""


def ring(n: int, rails: int) -> NicLoads:
    """Loads of the ring on healthy nodes: 2 (n-1)/(n g) everywhere. Source: counting.

    Raises:
        ModelError: There is no node or no rail.
    """
    load = Fraction(2 * (whole(n, "n", 1) - 1), n * whole(rails, "rails", 1))
    return {Nic(node, rail): (load, load) for node in range(n) for rail in range(rails)}


def hot_repair(rates: RailRates) -> NicLoads:
    """Loads of the ring after HotRepair: a healthy NIC's load for each share that a NIC serves.

    Source: derived here (`analysis.repaired_ring`). A relay's loads count what it passes on.

    Raises:
        ScheduleError: The live rails do not connect two neighbours of the ring.
    """
    shares = repaired_ring(rates.nodes, rates.rails, rates.dead())
    return {
        nic: (shares.sending.get(nic, 0) * sent, shares.receiving.get(nic, 0) * received)
        for nic, (sent, received) in ring(rates.nodes, rates.rails).items()
    }


def balance(rates: RailRates, order: Sequence[int] | None = None) -> NicLoads:
    """Loads of the ring after Balance: each hop's 2 (n-1)/n, in proportion to what its rails can carry.

    Source: figure 5 of paper 1; the proportions are derived here: all rails of a hop then end together.

    Args:
        rates: What every NIC can carry.
        order: The nodes in the order of the ring; None: 0, 1, ..., n-1.

    Raises:
        ModelError: The order does not name every node once, or some hop has no rail live at both ends.
    """
    n = rates.nodes
    nodes = list(range(n)) if order is None else list(order)
    capacities = hop_capacities(rates, nodes)
    sent = {Nic(node, rail): Fraction(0) for node in range(n) for rail in range(rates.rails)}
    received = dict(sent)
    for here, there, capacity in zip(nodes, [*nodes[1:], nodes[0]], capacities, strict=True):
        if n > 1 and capacity == 0:
            raise ModelError(
                f"nodes {here} and {there} share no live rail; give an order in which they are no neighbours"
            )
        for rail in range(rates.rails if n > 1 else 0):
            link = min(rates.rate(Nic(here, rail)), rates.rate(Nic(there, rail)))
            load = Fraction(2 * (n - 1), n) * link / capacity
            sent[Nic(here, rail)] = received[Nic(there, rail)] = load
    return {nic: (load, received[nic]) for nic, load in sent.items()}


def r2cc_allreduce(n: int, rails: int, dead_rails: int, partial: Exact | None = None) -> NicLoads:
    """Loads of R2CC-AllReduce by the chain of nodes 1, 2, ..., n-1.

    Source: text and figure 6 of paper 1; the chain is derived here. The global ring runs on the g-f rails
        that the degraded node still has, the partial ring on the f others. In stage 2 the hops between
        healthy nodes use all g rails, the two at the degraded node its g-f.

    Args:
        n: Number of nodes, at least 2.
        rails: g, rails per node.
        dead_rails: f, from 1 to g-1: rails 0, 1, ..., f-1 of node 0.
        partial: Y; None: Y = f/g.

    Raises:
        ModelError: An argument is out of range.
    """
    live = _live_rails(rails, dead_rails, 1)
    n, _, y = nodes_and_shares(n, Fraction(dead_rails, rails), partial)
    on_global = Fraction(2 * (n - 1), n) * (1 - y) / live
    on_partial = Fraction(2 * (n - 2), n - 1) * y / dead_rails
    loads = {}
    for node in range(n):
        for rail in range(rails):
            common = rail >= dead_rails
            # a hop of stage 2 that has the degraded node at one end has its live rails only
            end = y / live if common else Fraction(0)
            ring_load = on_global if common else on_partial if node else Fraction(0)
            loads[Nic(node, rail)] = (
                ring_load + (end if node in (0, n - 1) else y / rails),
                ring_load + (end if node in (0, 1) else y / rails),
            )
    return loads


class OptccShares(NamedTuple):
    """What one rail of a healthy participant carries in one direction, in D.

    Attributes:
        common_ring: A rail that the straggler has too: traffic of the healthy ring.
        common_straggler: The same rail: traffic with the straggler.
        other_ring: A rail that the straggler lost: traffic of the healthy ring.
    """

    common_ring: Fraction
    common_straggler: Fraction
    other_ring: Fraction


def optcc_shares(p: int, rails: int, dead_rails: int, *, planned: bool = True) -> OptccShares:
    """Share OptCC's traffic out among the rails of a healthy participant.

    Source: derived here. The straggler's exchange has to use the g-f common rails: 1/(m (g-f)) on each,
        m = p-1. Planned, the ring fills up every rail to the same (2m-1)/(m g). That is possible while
        l = g/(g-f) is at most 2p-3; beyond, the ring keeps to the rails the straggler lost, and the common
        ones are still less busy than the straggler. Not planned, the ring is striped evenly: that is form
        "equal-stripes" of `straggler.optcc`.

    Args:
        p: Number of participants, at least 3.
        rails: g, rails per participant.
        dead_rails: f, rails that the straggler lost, from 0 to g-1.
        planned: False stripes every transfer evenly.

    Raises:
        ModelError: An argument is out of range.
    """
    m, live = whole(p, "p", 3) - 1, _live_rails(rails, dead_rails, 0)
    straggler = Fraction(1, m * live)
    of_ring = Fraction(2 * (m - 1), m)
    if not planned:
        return OptccShares(of_ring / rails, straggler, of_ring / rails if dead_rails else Fraction(0))
    if dead_rails == 0:
        return OptccShares(of_ring / rails, straggler, Fraction(0))
    on_each = Fraction(2 * m - 1, m * rails)
    if straggler > on_each:
        return OptccShares(Fraction(0), straggler, of_ring / dead_rails)
    return OptccShares(on_each - straggler, straggler, on_each)


def optcc(p: int, rails: int, dead_rails: int, *, planned: bool = True) -> NicLoads:
    """Loads of OptCC's four stages by the shares of `optcc_shares`; node 0 is the straggler.

    The arguments and errors are those of `optcc_shares`.
    """
    shares = optcc_shares(p, rails, dead_rails, planned=planned)
    straggler = Fraction(1, rails - dead_rails)
    loads = {}
    for node in range(p):
        for rail in range(rails):
            common = rail >= dead_rails
            of_healthy = shares.common_ring + shares.common_straggler if common else shares.other_ring
            load = of_healthy if node else straggler if common else Fraction(0)
            loads[Nic(node, rail)] = (load, load)
    return loads


def _live_rails(rails: int, dead_rails: int, least: int) -> int:
    """Check g and f; return g-f."""
    live = whole(rails, "rails", 1) - whole(dead_rails, "dead_rails", least)
    if live < 1:
        raise ModelError(f"dead_rails = {dead_rails}: node 0 must keep a rail, give at most {rails - 1}")
    return live
