"""The rail-level optimum T*: what is the least time when traffic stays on its rail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from analysis import cost_model, lower_bound, rail_bound, rail_costs
from analysis.errors import ModelError
from analysis.rail_bound import RailBound
from analysis.rail_rates import RailRates
from analysis.reports.report import Cell, Column, Fact, Form, Report
from analysis.tightest_partition import Partition

MOST_SINGLE = 16
"""So many parts of one node each are written out."""


def build(rates: RailRates) -> Report:
    """Make the report: a row for each scheme and each bound.

    Args:
        rates: What every NIC can carry.

    Raises:
        ModelError: There is a single node, or one without any live rail.
    """
    nodes = rates.nodes
    if nodes < 2:
        raise ModelError("a single node exchanges nothing: give at least 2")
    best = rail_bound.optimum(rates)
    by_nodes = lower_bound.allreduce(rates.bandwidths())
    healthy = cost_model.ring(nodes)

    def row(name: str, time: Fraction | None) -> tuple[Cell, ...]:
        if time is None:
            return (name, math.inf, math.inf, None)
        return (name, time, time / healthy, time / best.time if best.time is not None else None)

    return Report(
        name="bound",
        title=(
            f"Least time of an allreduce of D on {nodes} nodes with {rates.rails} rails, traffic staying on "
            "its rail"
        ),
        source="derived here: T* by the partition formula, exact; closed forms of rail_costs",
        columns=(
            Column("scheme", "scheme", form=Form.TEXT),
            Column("time", "time", "D/B"),
            Column("over_healthy", "over healthy"),
            Column("over_best", "over T*"),
        ),
        rows=(
            row("node bound", by_nodes),
            row("T*, rail bound", best.time),
            row("Balance, ring 0, 1, ...", rail_costs.balance(rates)),
            row("HotRepair", rail_costs.hot_repair(rates)),
        ),
        facts=(
            Fact(Column("degraded", "NICs down or slow", form=Form.TEXT), _degraded(rates)),
            Fact(Column("best", "T*", "D/B"), math.inf if best.time is None else best.time),
            Fact(Column("partition", "partition that binds", form=Form.TEXT), _parts(best.partition)),
        ),
        notes=(
            (
                "T* is the least time of any scheme in which every transfer leaves and arrives on the same "
                "rail, other nodes passing data on as they like. The node bound knows no rails: what T* is "
                "above it, rails cost."
            ),
            "partition: inside a part nothing binds; what has to pass between the parts takes all of T*.",
            *_remarks(rates, best),
        ),
    )


def _degraded(rates: RailRates) -> str:
    """List what is dead or slow, compared with the fastest NIC of all."""
    most = max(rate for of_node in rates.rates for rate in of_node)
    found = []
    for node, of_node in enumerate(rates.rates):
        for rail, rate in enumerate(of_node):
            if rate < most:
                found.append(f"{node}:{rail}" + (f" at {rate / most}" if rate else ""))
    return ", ".join(found) or "none"


def _parts(partition: Partition) -> str:
    """Write parts as `0-2 | 3, 5`, runs of nodes that are parts of their own as `each of 0-5`."""
    single = [part[0] for part in partition if len(part) == 1]
    written = [_runs(part) for part in partition if len(part) > 1]
    if single and len(single) > MOST_SINGLE:
        written.append(f"each of {_runs(single)} alone")
    else:
        written += map(str, single)
    return " | ".join(written)


def _runs(nodes: Sequence[int]) -> str:
    """Write ascending numbers with their runs shortened: `0-2, 5`.

    >>> _runs([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7, 8'
    """
    runs: list[list[int]] = []
    for node in nodes:
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _remarks(rates: RailRates, best: RailBound) -> list[str]:
    """Say what is special about this case."""
    if best.time is None:
        return [
            (
                "infinite: no live rail leads from one part to another, so no allreduce can complete, "
                "though every node has a live rail."
            )
        ]
    if not best.is_exact:
        return [
            "T* is a lower bound here, not the exact optimum: too many different nodes to try all partitions."
        ]
    balanced = rail_costs.balance(rates)
    if balanced is None:
        return [
            "infinite for Balance: neighbours in the ring 0, 1, ... share no live rail; another order may do."
        ]
    return []
