"""A cluster as the analytic commands take it: nodes, rails, and what is dead or slow from the start."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from analysis.lower_bound import nested_mixture
from analysis.rail_rates import RailRates
from r2cc_mpi.cli.fault_checks import check_faults
from r2cc_mpi.cli.values import whole_number
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Declared, Fault, FaultKind, parse_faults
from r2cc_mpi.layout import Layout

MAX_NODES = 4096
MAX_RAILS = 64


def read_cluster(nodes: str, rails: str, fail: Sequence[str], slow: Sequence[str] = ()) -> RailRates:
    """Read the options `--nodes`, `--rails`, `--fail NODE:RAIL` and `--slow NODE:RAIL=F`.

    Args:
        nodes: Text of `--nodes`.
        rails: Text of `--rails`.
        fail: Texts of all `--fail`; no WHEN.
        slow: Texts of all `--slow`; no WHEN.

    Raises:
        UsageError: At the first thing that does not fit, naming the option.
    """
    layout = Layout(whole_number("--nodes", nodes, least=1), whole_number("--rails", rails, least=1))
    if layout.nodes > MAX_NODES or layout.rails > MAX_RAILS:
        raise UsageError(f"{layout}: the models take up to {MAX_NODES} nodes of {MAX_RAILS} rails")
    faults = parse_faults(fail, slow, ())
    for fault in faults:
        if fault.trigger != Declared():
            raise UsageError(f"{fault.option}: nothing happens over time here, leave out what follows the @")
    check_faults(faults, layout, iterations=1, sizes=1)
    return rates_of(layout, faults)


def rings_of(rates: RailRates) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """Choose the rings of nested OptCC: members and share of each."""
    return tuple((ring.members, ring.share) for ring in nested_mixture(rates.bandwidths()))


def rates_of(layout: Layout, faults: Sequence[Fault]) -> RailRates:
    """Say what each NIC can carry, given faults that hold from the start."""
    return RailRates.of(
        layout.nodes,
        layout.rails,
        dead=[fault.nic for fault in faults if fault.kind is FaultKind.FAIL],
        slow={fault.nic: fault.factor for fault in faults if fault.factor is not None},
    )
