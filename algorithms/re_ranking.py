"""Logical re-ranking: the order of a ring that avoids weak hops (paper 1, R2CC, arXiv 2512.25059, figure 18).

Two neighbours of a ring can use the rails that are live at both. Nodes A without rail 0 and B without rail 1
have two rails of four in common, but each has three in common with a healthy node: a ring in which they are
not neighbours is faster. The capacity of the weakest hop is what counts, so the best order is a Hamiltonian
cycle whose weakest hop is as strong as possible (a bottleneck travelling salesman).

Up to `EXACT_UP_TO` nodes the order is the best there is. Beyond, rotations (Posa's way of finding Hamiltonian
cycles) find a good one; it may not be the best. Not handled here: hops without any common rail. The weakest
hop of the order returned may be 0; then no ring without a relay exists, or none was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Capacities = Sequence[Sequence[Fraction]]

EXACT_UP_TO = 10
"""Nodes up to which all orders are considered (a table of 2^n n entries)."""

ROTATIONS = 20
"""Rotations tried per node, beyond that."""


def common_capacity(rates: Capacities) -> list[list[Fraction]]:
    """Compute what each pair of nodes can exchange on the rails that both have.

    Args:
        rates: `rates[node][rail]`, in any unit; 0 for a dead NIC.

    Returns:
        `capacity[u][v]`: the sum over rails of the smaller of the two rates.
    """
    return [[sum(map(min, here, there), Fraction(0)) for there in rates] for here in rates]


def weakest_hop(capacity: Capacities, order: Sequence[int]) -> Fraction:
    """Return the least capacity between neighbours of a ring of at least two nodes."""
    return min(capacity[here][there] for here, there in zip(order, [*order[1:], order[0]], strict=True))


def re_rank(capacity: Capacities) -> tuple[int, ...]:
    """Find an order of the ring whose weakest hop is as strong as possible.

    Args:
        capacity: `capacity[u][v]`, symmetric, what u and v can exchange.

    Returns:
        The nodes in the order of the ring, node 0 first; their natural order where none is better.

    >>> lost = [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
    >>> re_rank(common_capacity(lost))
    (0, 2, 1, 3)
    """
    nodes = len(capacity)
    best = tuple(range(nodes))
    if nodes < 4:  # all rings of three nodes have the same hops
        return best
    reached = weakest_hop(capacity, best)
    # No ring is stronger than the second strongest hop of any of its nodes.
    limit = min(sorted(row[:node] + row[node + 1 :])[-2] for node, row in enumerate(map(list, capacity)))
    steps = {hop for row in capacity for hop in row if reached < hop <= limit}
    for strength in sorted(steps, reverse=True):
        neighbours = [
            sum(1 << v for v in range(nodes) if v != u and capacity[u][v] >= strength) for u in range(nodes)
        ]
        find = _exact_cycle if nodes <= EXACT_UP_TO else _rotated_cycle
        if cycle := find(neighbours):
            return cycle
    return best


def _exact_cycle(neighbours: Sequence[int]) -> tuple[int, ...] | None:
    """Find the first Hamiltonian cycle, given each node's neighbours as bits, or None if there is none."""
    nodes = len(neighbours)
    # ends[visited]: nodes at which a path from node 0 through exactly these nodes can end
    ends = [0] * (1 << nodes)
    ends[1] = 1
    for visited in range(1, 1 << nodes, 2):
        for node in _bits(ends[visited]):
            for after in _bits(neighbours[node] & ~visited):
                ends[visited | 1 << after] |= 1 << after
    visited = (1 << nodes) - 1
    cycle: list[int] = []
    wanted = neighbours[0]
    while visited > 1:
        here = ends[visited] & wanted
        if not here:
            return None
        cycle.append(here.bit_length() - 1)
        visited &= ~(1 << cycle[-1])
        wanted = neighbours[cycle[-1]]
    return (0, *reversed(cycle))


def _rotated_cycle(neighbours: Sequence[int]) -> tuple[int, ...] | None:
    """Look for a Hamiltonian cycle: extend a path at its end, and turn a part of it around where it is stuck.

    Nodes with few neighbours come first, since they are hard to place later.
    """
    nodes = len(neighbours)
    path = [min(range(nodes), key=lambda node: (neighbours[node].bit_count(), node))]
    used = 1 << path[0]
    turned: dict[int, int] = {}  # how often a node has become the end by a turn, so that no turn is undone
    for _ in range(ROTATIONS * nodes):
        end = path[-1]
        if free := neighbours[end] & ~used:
            path.append(min(_bits(free), key=lambda node: (neighbours[node].bit_count(), node)))
            used |= 1 << path[-1]
        elif len(path) == nodes and neighbours[end] >> path[0] & 1:
            start = path.index(0)
            return tuple(path[start:] + path[:start])
        else:
            places = [place for place in range(len(path) - 2) if neighbours[end] >> path[place] & 1]
            if not places:
                return None
            place = min(places, key=lambda place: (turned.get(path[place + 1], 0), place))
            path[place + 1 :] = path[:place:-1]
            turned[path[-1]] = turned.get(path[-1], 0) + 1
    return None


def _bits(word: int) -> list[int]:
    return [node for node in range(word.bit_length()) if word >> node & 1]
