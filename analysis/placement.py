"""What dead rails scattered over a cluster cost: the general models, quick where most nodes are healthy.

A *placement* says which rails are dead where: for each degraded node a whole number whose bit r is set if its
rail r is dead. Nodes that are not named are healthy. Each function gives what the general model named in its
docstring gives, as an exact fraction, but in microseconds instead of milliseconds, so that thousands of
random placements can be looked at. Where a short cut does not hold, the general model is asked.

Times are in D/B. Not handled here: slow rails, latency, and clusters of a single node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from algorithms.hot_repair import backup_chain
from algorithms.nic import Nic
from algorithms.re_ranking import common_capacity, re_rank
from analysis import candidates, cost_model, rail_bound, rail_costs
from analysis.candidates import Candidate
from analysis.rail_rates import RailRates

Time = Fraction | None
"""In D/B; None if the scheme cannot complete."""

Scheme = Callable[[RailRates, Fraction], list[Candidate]]


class Placement(NamedTuple):
    """A cluster of equal rails, some of which are dead.

    Attributes:
        nodes: n, at least 2.
        rails: g, rails of each node.
        dead: For each degraded node its dead rails, as bits.
    """

    nodes: int
    rails: int
    dead: Mapping[int, int]

    @classmethod
    def of(cls, nodes: int, rails: int, nics: Iterable[Nic]) -> Placement:
        """Describe a cluster by its dead NICs, each of which must exist.

        >>> Placement.of(3, 4, [Nic(1, 0), Nic(1, 2)]).dead
        {1: 5}
        """
        dead: dict[int, int] = {}
        for node, rail in nics:
            dead[node] = dead.get(node, 0) | 1 << rail
        return cls(nodes, rails, dead)

    @property
    def all_dead(self) -> int:
        """The bits of a node without any live rail."""
        return (1 << self.rails) - 1

    @property
    def healthy(self) -> int:
        """Number of nodes without a dead rail."""
        return self.nodes - len(self.dead)

    def rates(self) -> RailRates:
        """Describe the cluster to the general models."""
        nics = [Nic(node, r) for node, bits in self.dead.items() for r in range(self.rails) if bits >> r & 1]
        return RailRates.of(self.nodes, self.rails, nics)

    def hops(self) -> Iterator[int]:
        """Go through the hops of the ring 0, 1, ... that touch a degraded node.

        Yields:
            The rails, as bits, that are dead at either end.
        """
        for node, bits in self.dead.items():
            yield self.dead.get((node - 1) % self.nodes, 0) | bits
            yield bits | self.dead.get((node + 1) % self.nodes, 0)


class Times(NamedTuple):
    """What one allreduce takes after the failures of a placement, in D/B.

    Attributes:
        hot_repair: HotRepair.
        balance: Balance in the ring 0, 1, ..., n-1.
        re_ranked: Balance in the ring whose weakest hop is strongest.
        r2cc: The fastest of these three and of the planner's other candidates from paper 1: R2CC-AllReduce
            where one node is degraded, its recursive form where live rails nest.
        best: The fastest of all the planner's candidates, OptCC and nested OptCC too.
        bound: T*, what no scheme can beat.
    """

    hot_repair: Time
    balance: Time
    re_ranked: Time
    r2cc: Time
    best: Time
    bound: Time


def times(placement: Placement) -> Times:
    """Work out all schemes.

    Args:
        placement: The cluster, with at least one dead rail.
    """
    least = bound(placement)
    rings = (hot_repair(placement), balance(placement), re_ranked(placement))
    if least is None:
        return Times(*rings, None, None, None)
    papers_1, all_others = _beyond_rings(placement)
    r2cc = _least([*rings, *papers_1])
    best = _least([r2cc, *all_others])
    return Times(*rings, r2cc, best, least)


def is_connected(placement: Placement) -> bool:
    """Whether live rails connect all nodes, as `RailRates.groups` finds.

    Short cut: a healthy node has all rails, so it is connected with every node that has any.
    """
    if placement.healthy:
        return placement.all_dead not in placement.dead.values()
    return len(placement.rates().groups()) == 1


def hot_repair(placement: Placement) -> Time:
    """As `rail_costs.hot_repair`.

    Short cut: if the ends of every hop have a live rail in common, nothing is relayed, and what a NIC sends
    depends on its own hop only. So the busiest NIC is found hop by hop.
    """
    if not is_connected(placement):
        return None
    hops = set(placement.hops())
    if placement.all_dead in hops:
        return rail_costs.hot_repair(placement.rates())
    return cost_model.ring(placement.nodes) * max(_most_shares(placement.rails, bits) for bits in hops)


def balance(placement: Placement) -> Time:
    """As `rail_costs.balance` in the natural order: the hop with the fewest common rails sets the pace."""
    return _ring_with(placement, max(bits.bit_count() for bits in placement.hops()))


def re_ranked(placement: Placement) -> Time:
    """As `rail_costs.balance` in the best order.

    Short cut: with at least as many healthy nodes as degraded ones, put a healthy one between any two
    degraded ones. Each hop then has all that its worse end has, and no order gives the worst node more.
    """
    if placement.healthy >= len(placement.dead):
        return _ring_with(placement, max(bits.bit_count() for bits in placement.dead.values()))
    rates = placement.rates()
    return rail_costs.balance(rates, re_rank(common_capacity(rates.rates)))


def bound(placement: Placement) -> Time:
    """T*, as `rail_bound.optimum`.

    Short cut, derived here: with at least two healthy nodes, and as many as degraded ones, T* is the node
    bound max(1/b_min, 2 (n-1) / sum b). In the finest partition that binds, nodes that are alike are either
    all in one part or each alone. *Healthy ones alone*: all other parts are of degraded nodes, which have at
    most half of any rail. So min(S_r, 2 (S_r - A_r)) = S_r on each rail, and the bound 2 (q-1) / sum b is
    largest with every node alone. *Healthy ones in one part*: that part has at least half of every rail, so
    what crosses is twice the rate of the nodes outside. The bound is the number of other parts over the sum
    of their nodes' b, largest if only the slowest node is outside: 1/b_min.
    """
    if not is_connected(placement):
        return None
    if placement.healthy < max(2, len(placement.dead)):
        return rail_bound.optimum(placement.rates()).time
    n, g = placement.nodes, placement.rails
    lost = [bits.bit_count() for bits in placement.dead.values()]
    return max(Fraction(g, g - max(lost)), Fraction(2 * (n - 1) * g, n * g - sum(lost)))


def _ring_with(placement: Placement, lacking: int) -> Time:
    """Time of the balanced ring whose weakest hop lacks so many rails."""
    live = placement.rails - lacking
    return cost_model.ring(placement.nodes) * placement.rails / live if live else None


@cache
def _most_shares(rails: int, dead: int) -> int:
    """Count what the busiest rail of a hop carries if these rails, as bits, are dead at either end."""
    return max(
        Counter(
            next(rail for rail in backup_chain(home, rails) if not dead >> rail & 1) for home in range(rails)
        ).values()
    )


def _beyond_rings(placement: Placement) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """List what the planner's schemes that are no single ring take: those of paper 1, and the others.

    They exist where the live rails nest from node to node. Which nodes and rails these are does not matter.
    """
    chain = sorted(placement.dead.values(), key=int.bit_count)
    if any(less & ~more for less, more in pairwise(chain)):
        return (), ()
    return _nested(placement.nodes, placement.rails, tuple(bits.bit_count() for bits in chain))


@cache
def _nested(
    nodes: int, rails: int, lost: tuple[int, ...]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """As `_beyond_rings`, for nodes that lost their first rails, so many each."""
    rates = Placement(nodes, rails, {node: (1 << count) - 1 for node, count in enumerate(lost)}).rates()

    def found(*schemes: Scheme) -> tuple[Fraction, ...]:
        everything = [one.time for scheme in schemes for one in scheme(rates, Fraction(0))]
        return tuple(time for time in everything if time is not None)

    return (
        found(candidates.r2cc_allreduce, candidates.recursive_r2cc),
        found(candidates.optcc, candidates.nested_optcc),
    )


def _least(found: Iterable[Time]) -> Time:
    return min((time for time in found if time is not None), default=None)
