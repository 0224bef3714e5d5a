"""The cases of `r2cc verify --all`: small layouts, and failures of every sort an algorithm is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from algorithms.catalogue import OPTCC_FORMS, Case
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import FORMS
from algorithms.re_ranking import common_capacity, re_rank
from analysis.rail_rates import RailRates
from r2cc_mpi.cli.cluster import rings_of

NODES = range(1, 10)
RAILS = (1, 2, 3, 4, 8)


def matrix(algorithms: Iterable[str]) -> Iterator[tuple[str, Case]]:
    """List the cases of some algorithms, by name."""
    for algorithm in algorithms:
        for nodes in NODES:
            for rails in RAILS:
                for case in _CASES.get(algorithm, _healthy)(nodes, rails):
                    yield algorithm, case


def _healthy(nodes: int, rails: int) -> Iterator[Case]:
    yield Case(RailRates.of(nodes, rails).rates)


def _failures(nodes: int, rails: int) -> Iterator[Case]:
    """Nothing, one rail, two rails of neighbours, and nodes that have no rail in common any more."""
    yield from _healthy(nodes, rails)
    first, last = Nic(0, 0), Nic(min(1, nodes - 1), rails - 1)
    if nodes < 2 or rails < 2:
        return
    for dead in ([first], [last], [first, last]):
        rates = RailRates.of(nodes, rails, dead)
        if len(rates.groups()) == 1:
            yield Case(rates.rates)
    half = rails // 2
    apart = [Nic(0, r) for r in range(half)] + [Nic(1, r) for r in range(half, rails)]
    if nodes > 2:
        yield Case(RailRates.of(nodes, rails, apart).rates)


def _balanced(nodes: int, rails: int) -> Iterator[Case]:
    """The same, and in a better order where there is one."""
    for case in _failures(nodes, rails):
        yield case
        order = re_rank(common_capacity(case.rates))
        if order != tuple(range(nodes)):
            yield Case(case.rates, order=order)


def _one_degraded_node(nodes: int, rails: int) -> Iterator[Case]:
    """The first node without a rail, the last one with a single rail; both forms, one and four pieces."""
    if nodes < 3:
        return
    for node, lost in ((0, 1), (nodes - 1, rails - 1)) if rails > 1 else ():
        rates = RailRates.of(nodes, rails, [Nic(node, rail) for rail in range(lost)]).rates
        for form in FORMS:
            for pieces in (1, 4):
                yield Case(rates, pieces=pieces, form=form)


def _one_straggler(nodes: int, rails: int) -> Iterator[Case]:
    """The last node without a rail, the first one with a single rail; all forms, one and four segments."""
    if nodes < 3:
        return
    for node, lost in ((nodes - 1, 1), (0, rails - 1)) if rails > 1 else ():
        rates = RailRates.of(nodes, rails, [Nic(node, rail) for rail in range(lost)]).rates
        for form in OPTCC_FORMS:
            for segments in (1, 4):
                yield Case(rates, pieces=segments, form=form)


def _nested_losses(nodes: int, rails: int) -> Iterator[Case]:
    """Two nodes that lost one rail and two rails, the one's among the other's."""
    if nodes < 3 or rails < 3:
        return
    rates = RailRates.of(nodes, rails, [Nic(0, 0), Nic(1, 0), Nic(1, 1)])
    yield Case(rates.rates, pieces=2, rings=rings_of(rates))


_CASES = {
    "hot-repair": _failures,
    "balance": _balanced,
    "r2cc-allreduce": _one_degraded_node,
    "optcc": _one_straggler,
    "nested-optcc": _nested_losses,
}
