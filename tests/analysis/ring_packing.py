"""What rings can do on rails, as a linear program: OptCC with any rings. Knows neither bound nor partition.

A part of the data is reduced by a ring over some of the nodes, in some order; each member owns a section of
it, and the other nodes are leaves. Per unit of a section: its sum runs from the member after the owner along
the ring to the owner, and then once round again, so the hop from i to i+1 carries twice all sections, but
those of i and i+1 only once. A leaf gives its contribution to a member and takes the result from one. All is
spread over the rails live at both ends as the program likes.

Rings reach the optimum on up to four nodes. From five on they may miss it: see the tests.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from algorithms.nic import Nic
from analysis.linear_program import NoSolutionError, Sum, minimise
from analysis.rail_bound import INFINITE
from analysis.rail_rates import RailRates

Ring = tuple[int, ...]


class Move(NamedTuple):
    """A variable: data that a ring moves from one node to another over a rail."""

    ring: Ring
    what: str
    source: int
    target: int
    rail: int


class Section(NamedTuple):
    """A variable: the part of the data that a member of a ring owns."""

    ring: Ring
    owner: int


def all_rings(nodes: int) -> list[Ring]:
    """List every cyclic order of every set of nodes; a set is written from its smallest node on."""
    return [
        (members[0], *order)
        for size in range(1, nodes + 1)
        for members in itertools.combinations(range(nodes), size)
        for order in itertools.permutations(members[1:])
    ]


def sorted_prefixes(rates: RailRates) -> list[Ring]:
    """List the rings of `analysis.lower_bound.nested_mixture`: the k fastest nodes, in that order."""
    bandwidths = rates.bandwidths()
    order = sorted(range(rates.nodes), key=lambda node: (-bandwidths[node], node))
    return [tuple(order[:size]) for size in range(1, rates.nodes + 1)]


def least_time(rates: RailRates, rings: Sequence[Ring], *, fixed_owners: bool = False) -> float:
    """Time of the best mixture of rings, in units of D/B.

    Args:
        rates: Rate of every NIC.
        rings: The rings that may be used.
        fixed_owners: Sections are equal, and leaves talk to the owner of each section.

    Returns:
        The time, infinite if none of the rings works.
    """
    equal: list[tuple[Sum, float]] = []
    moves: list[Move] = []

    def carry(ring: Ring, what: str, pairs: Sequence[tuple[int, int]], amount: dict[Section, float]) -> None:
        """Demand that moves between pairs of nodes add up to an amount."""
        new = [Move(ring, what, u, v, rail) for u, v in pairs for rail in common_rails(rates, u, v)]
        moves.extend(new)
        demand: dict[Hashable, float] = dict.fromkeys(new, 1.0)
        equal.append((demand | {section: -factor for section, factor in amount.items()}, 0.0))

    for ring in rings:
        sections = [Section(ring, owner) for owner in ring]
        if fixed_owners:
            equal.extend(({one: 1.0, other: -1.0}, 0.0) for one, other in itertools.pairwise(sections))
        if len(ring) > 1:
            for here, after in zip(sections, sections[1:] + sections[:1], strict=True):
                amount = {section: 1.0 if section in (here, after) else 2.0 for section in sections}
                carry(ring, "round", [(here.owner, after.owner)], amount)
        for leaf in sorted(set(range(rates.nodes)) - set(ring)):
            for owned in [[section] for section in sections] if fixed_owners else [sections]:
                members = [section.owner for section in owned]
                carry(ring, "give", [(leaf, member) for member in members], dict.fromkeys(owned, 1.0))
                carry(ring, "take", [(member, leaf) for member in members], dict.fromkeys(owned, 1.0))

    everything: Sum = {Section(ring, owner): 1.0 for ring in rings for owner in ring}
    loads: defaultdict[tuple[str, Nic], dict[Hashable, float]] = defaultdict(dict)
    for move in moves:
        loads["sends", Nic(move.source, move.rail)][move] = 1.0
        loads["receives", Nic(move.target, move.rail)][move] = 1.0
    at_most: list[tuple[Sum, float]] = [
        ({**load, "time": -float(rates.rate(nic))}, 0.0) for (_, nic), load in loads.items()
    ]
    try:
        return minimise({"time": 1.0}, at_most=at_most, equal=[*equal, (everything, 1.0)])["time"]
    except NoSolutionError:
        return INFINITE


def common_rails(rates: RailRates, one: int, other: int) -> list[int]:
    """List the rails that are live at both nodes."""
    return [
        rail
        for rail in range(rates.rails)
        if rates.is_live(Nic(one, rail)) and rates.is_live(Nic(other, rail))
    ]
