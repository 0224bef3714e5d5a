"""The optimum on rails as a linear program: pack spanning trees. Knows nothing of partitions."""

from __future__ import annotations

import math

from algorithms.nic import Nic
from analysis.linear_program import Sum, minimise
from analysis.rail_rates import RailRates

INFINITE = math.inf
"""Time of an allreduce on nodes that live rails do not connect."""


def by_linear_program(rates: RailRates) -> float:
    """Compute T* of `analysis.rail_bound` as a flow problem, in floating point.

    Trees of total weight tau can be packed iff, from one node as the root, a flow of tau can be sent to each
    other node, one at a time (Edmonds). Link (u, v, r) offers flows `y_r(u, v)` in its direction. A tree link
    carries data up and down whichever way it points, so `sum over v of y_r(u, v) + y_r(v, u)` may not exceed
    what the NIC of u on rail r does in one direction. Source: derived here.

    Args:
        rates: Rate of every NIC.

    Returns:
        1/tau, in units of D/B; `INFINITE` if the live rails do not connect the nodes; 0 for one node.

    Raises:
        ModelError: SciPy is not installed, or its solver fails.
    """
    if rates.nodes == 1:
        return 0.0
    nodes, targets = range(rates.nodes), range(1, rates.nodes)
    pairs = [(u, v) for u in nodes for v in nodes if u != v]
    nics = [Nic(node, rail) for node in nodes for rail in range(rates.rails)]

    at_most: list[tuple[Sum, float]] = []
    for here, rail in nics:
        links: Sum = {("link", u, v, rail): 1.0 for u, v in pairs if here in (u, v)}
        at_most.append((links, float(rates.rate(Nic(here, rail)))))
    for target in targets:
        for u, v in pairs:
            offered: Sum = {("link", u, v, rail): -1.0 for rail in range(rates.rails)}
            at_most.append(({("flow", target, u, v): 1.0, **offered}, 0.0))

    equal: list[tuple[Sum, float]] = []
    for target in targets:
        # Node 0 is the root. At every other node what arrives leaves again, but at the target tau stays.
        for node in targets:
            arrives: Sum = {("flow", target, u, v): 1.0 for u, v in pairs if v == node}
            leaves: Sum = {("flow", target, u, v): -1.0 for u, v in pairs if u == node}
            stays: Sum = {"tau": -1.0} if node == target else {}
            equal.append(({**arrives, **leaves, **stays}, 0.0))

    weight = minimise({"tau": -1.0}, at_most=at_most, equal=equal)["tau"]
    # The solver's zero is not exactly zero. No rate that means anything is as small as this.
    return 1 / weight if weight > 1e-7 else INFINITE
