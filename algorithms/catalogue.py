"""All algorithms by their names on the command line, for whoever wants one without knowing how it is written.

An entry takes a case (what the NICs can carry, and the options there are) and returns the stripes, which know
their schedule. Adding an algorithm means adding its function to `ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from algorithms.balance import balance_mapping
from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import DEFAULT_PIECES, FORMS, r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.stripes import Stripes, healthy_mapping
from algorithms.transfer import ScheduleError


@dataclass(frozen=True)
class Case:
    """What an algorithm is written for. Each reads what concerns it.

    Attributes:
        rates: `rates[node][rail]`, what each NIC can carry in each direction, in any unit; 0 for a dead one.
        order: The nodes in the order of the ring; None: 0, 1, ..., n-1.
        pieces: K, pieces of a second stage or segments; None: the algorithm's own default.
        partial: Y, the share of R2CC-AllReduce's partial ring; None: the paper's rule.
        form: Of the algorithm, where it has several; None: its default.
        sub_pieces: S, of the helper form of R2CC-AllReduce.
    """

    rates: Sequence[Sequence[Fraction]]
    order: Sequence[int] | None = None
    pieces: int | None = None
    partial: Fraction | None = None
    form: str | None = None
    sub_pieces: int = 1

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.rates)

    @property
    def rails(self) -> int:
        """Rails of each node."""
        return len(self.rates[0])

    def dead(self) -> list[Nic]:
        """List the NICs that carry nothing, in order."""
        nics = (Nic(node, rail) for node in range(self.nodes) for rail in range(self.rails))
        return [nic for nic in nics if not self.rates[nic.node][nic.rail]]


def ring(case: Case) -> Stripes:
    """Write the ring as if nothing had failed: over dead NICs too."""
    return healthy_mapping(ring_allreduce(case.nodes, case.order), case.rails)


def hot_repair(case: Case) -> Stripes:
    """Write the ring, with the channels of dead NICs on their backup routes."""
    return hot_repair_mapping(ring_allreduce(case.nodes, case.order), case.rails, case.dead())


def balance(case: Case) -> Stripes:
    """Write the ring, each hop spread over what its rails can carry."""
    return balance_mapping(ring_allreduce(case.nodes, case.order), case.rates)


def r2cc(case: Case) -> Stripes:
    """Write R2CC-AllReduce around the one node that has dead rails."""
    degraded = {nic.node for nic in case.dead()}
    if len(degraded) != 1:
        nodes = f"nodes {', '.join(map(str, sorted(degraded)))} have" if degraded else "none has"
        raise ScheduleError(f"R2CC-AllReduce needs exactly one node with dead rails, {nodes}")
    schedule = r2cc_allreduce(
        case.nodes,
        case.rails,
        degraded.pop(),
        [nic.rail for nic in case.dead()],
        DEFAULT_PIECES if case.pieces is None else case.pieces,
        case.partial,
        form=FORMS[0] if case.form is None else case.form,
        sub_pieces=case.sub_pieces,
        order=case.order,
    )
    return balance_mapping(schedule, case.rates)


ALGORITHMS: Mapping[str, Callable[[Case], Stripes]] = {
    "ring": ring,
    "hot-repair": hot_repair,
    "balance": balance,
    "r2cc-allreduce": r2cc,
}
"""What there is, from the simplest on. Each raises ScheduleError where it cannot serve a case."""
