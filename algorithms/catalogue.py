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
from algorithms.list_schedule import list_scheduled
from algorithms.nested_optcc import Ring, nested_optcc
from algorithms.nic import Nic
from algorithms.optcc import optcc_allreduce
from algorithms.optcc_mapping import optcc_mapping
from algorithms.optcc_mixture import mixture_share, optcc_mixture
from algorithms.optcc_overlay import optcc_overlay
from algorithms.r2cc_allreduce import DEFAULT_PIECES, FORMS, r2cc_allreduce
from algorithms.ring import ring_allreduce
from algorithms.stripes import Stripes, healthy_mapping
from algorithms.transfer import ScheduleError

OPTCC_FORMS = ("simple", "ordering-2", "overlay", "mixture")
"""What OptCC can look like: ordering 1 or 2 alone, four patterns overlaid, and these with the plain ring."""

DEFAULT_SEGMENTS = 8


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
        rings: Of nested OptCC: members and share of each ring (`analysis.lower_bound.nested_mixture`).
        pairs_of_ports: Whether OptCC's overlay and mixture are written for the simulator's machine, in which
            a transfer begins when the ports at both ends are free, in list-scheduled order; or for real
            ranks, whose ports queue (`analysis.simulation.executor`), in the order of planned times.
    """

    rates: Sequence[Sequence[Fraction]]
    order: Sequence[int] | None = None
    pieces: int | None = None
    partial: Fraction | None = None
    form: str | None = None
    sub_pieces: int = 1
    rings: Sequence[Ring] | None = None
    pairs_of_ports: bool = True

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


def optcc(case: Case) -> Stripes:
    """Write OptCC around the one node that has less bandwidth than the others."""
    bandwidths = [sum(of_node, Fraction(0)) for of_node in case.rates]
    slow = [node for node, bandwidth in enumerate(bandwidths) if bandwidth < max(bandwidths)]
    if len(slow) != 1:
        nodes = f"nodes {', '.join(map(str, slow))} have" if slow else "none has"
        raise ScheduleError(f"OptCC needs exactly one node with less bandwidth than the others, {nodes}")
    straggler = slow[0]
    lost_rails = [nic.rail for nic in case.dead()]
    segments = DEFAULT_SEGMENTS if case.pieces is None else case.pieces
    place = (case.nodes, straggler, segments)
    if case.form in {None, "simple"}:
        schedule = optcc_allreduce(*place, 1, case.rails, lost_rails)
    elif case.form == "ordering-2":
        schedule = optcc_allreduce(*place, 2, case.rails, lost_rails)
    elif case.form == "overlay":
        schedule = optcc_overlay(*place, case.rails, lost_rails)
    elif case.form == "mixture":
        by_ring = mixture_share(case.nodes, max(bandwidths) / bandwidths[straggler])
        schedule = optcc_mixture(*place, case.rails, lost_rails, by_ring)
    else:
        raise ScheduleError(f"OptCC has the forms {', '.join(OPTCC_FORMS)}, not {case.form!r}")
    stripes = optcc_mapping(schedule, case.rates)
    # Of these two the order that is best for a rail differs from rail to rail.
    is_listed = case.pairs_of_ports and case.form in {"overlay", "mixture"}
    return list_scheduled(stripes, case.rates) if is_listed else stripes


def nested(case: Case) -> Stripes:
    """Write OptCC for several degraded nodes: the rings are given, all other nodes are their leaves."""
    if case.rings is None:
        raise ScheduleError("nested OptCC needs its rings: members and share of each")
    segments = DEFAULT_SEGMENTS if case.pieces is None else case.pieces
    schedule = nested_optcc(case.nodes, case.rings, segments)
    return list_scheduled(optcc_mapping(schedule, case.rates), case.rates)


ALGORITHMS: Mapping[str, Callable[[Case], Stripes]] = {
    "ring": ring,
    "hot-repair": hot_repair,
    "balance": balance,
    "r2cc-allreduce": r2cc,
    "optcc": optcc,
    "nested-optcc": nested,
}
"""What there is, from the simplest on. Each raises ScheduleError where it cannot serve a case."""
