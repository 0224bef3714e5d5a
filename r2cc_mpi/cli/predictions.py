"""What the models say of an iteration: the expected time between nodes, and what no strategy could beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from algorithms.nic import Nic
from analysis import rail_bound
from analysis.rail_rates import RailRates
from r2cc_mpi.expected_time import expected_time, replayed_time
from r2cc_mpi.faults import Declared, Fault, FaultKind
from r2cc_mpi.layout import Layout
from r2cc_mpi.planning import Wishes, choose
from r2cc_mpi.strategy import Strategy


@dataclass(frozen=True)
class Prediction:
    """Seconds for the part of a call between nodes; None where the models say nothing.

    Attributes:
        predicted_s: With the strategy in force.
        bound_s: With the best strategy there could be.
    """

    predicted_s: float | None = None
    bound_s: float | None = None


def predict(
    layout: Layout,
    wishes: Wishes,
    strategy: str,
    down: Sequence[Nic],
    faults: Sequence[Fault],
    *,
    size_bytes: int,
    planned_without: Sequence[Nic] | None = None,
) -> Prediction:
    """Ask the closed forms about an iteration in which nothing changed.

    Bytes only: messages are taken to cost nothing, as they hardly do at the rates that rails are paced to.

    Args:
        layout: Nodes and rails.
        wishes: What the plans of the run are made from.
        strategy: Name of the strategy in force.
        down: NICs that the iteration ran without.
        faults: The faults of the run.
        size_bytes: Bytes to reduce per node.
        planned_without: NICs that were down for the plan, if that is an older one that is replayed.

    Returns:
        Nothing where rails are not paced or one of them slows down on the way.
    """
    changes = any(fault.kind is FaultKind.SLOW and fault.trigger != Declared() for fault in faults)
    if wishes.rail_bytes_per_s is None or changes:
        return Prediction()
    unit_s = float(size_bytes / (wishes.rail_bytes_per_s * layout.rails))
    rates = RailRates.of(layout.nodes, layout.rails, dead=down, slow=dict(wishes.slow))
    known = down if planned_without is None else planned_without
    choice = choose(layout.nodes, layout.rails, wishes, tuple(sorted(known)), size_bytes)
    if planned_without is None:
        time = expected_time(rates, choice, Strategy.parse(strategy))
    else:
        time = replayed_time(layout, wishes, choice, planned_without, down)
    bound = _bound(rates)
    return Prediction(
        None if time is None else float(time) * unit_s, None if bound is None else float(bound) * unit_s
    )


@lru_cache(maxsize=64)
def _bound(rates: RailRates) -> Fraction | None:
    return rail_bound.optimum(rates).time
