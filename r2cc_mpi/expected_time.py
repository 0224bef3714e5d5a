"""How long the models say that a plan takes between nodes."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from algorithms.nic import Nic
from analysis import cost_model, rail_costs
from analysis.candidates import find_straggler
from analysis.rail_rates import RailRates
from r2cc_mpi.agreed_plan import AgreedPlan
from r2cc_mpi.layout import Layout
from r2cc_mpi.planning import Choice, Wishes
from r2cc_mpi.strategy import Strategy


def predicted_s(layout: Layout, wishes: Wishes, plan: AgreedPlan, down: Collection[Nic]) -> float | None:
    """Say how many seconds the models expect a plan to take between nodes.

    Args:
        layout: Nodes and rails.
        wishes: What is known of the rails' rates.
        plan: The plan.
        down: NICs that are down now; the plan may have been made for others.

    Returns:
        The seconds; None if rails are not paced, or for a plan other than the ring that HotRepair carries.
    """
    if wishes.rail_bytes_per_s is None:
        return None
    time = replayed_time(layout, wishes, plan.choice, plan.down, down)
    unit_s = plan.buffer_bytes / (wishes.rail_bytes_per_s * layout.rails)
    return None if time is None else float(time * unit_s)


def replayed_time(
    layout: Layout, wishes: Wishes, choice: Choice, planned_without: Collection[Nic], down: Collection[Nic]
) -> Fraction | None:
    """Give the closed form of a plan that was made for some health and runs under another, in D/B.

    Args:
        layout: Nodes and rails.
        wishes: What the plan was made from.
        choice: What is planned.
        planned_without: NICs that were down then.
        down: NICs that are down now.

    Returns:
        The time; None for a plan other than the ring that HotRepair carries, which has no closed form.
    """
    if choice.strategy in {Strategy.RING, Strategy.HOT_REPAIR}:
        dead = down
    elif set(down) <= set(planned_without):
        dead = planned_without  # what came back is not used
    else:
        return None
    rates = RailRates.of(layout.nodes, layout.rails, dead=dead, slow=dict(wishes.slow))
    return expected_time(rates, choice, choice.strategy)


def expected_time(rates: RailRates, choice: Choice, strategy: Strategy) -> Fraction | None:
    """Give the closed form of what runs, in D/B.

    Bytes only: messages are taken to cost nothing, as they hardly do at the rates that rails are paced to.

    Args:
        rates: What each NIC carries.
        choice: What is planned for these rates.
        strategy: The strategy in force: that of the choice, or HotRepair of the ring.

    Returns:
        The time; None where the models say nothing.
    """
    if strategy is not choice.strategy or strategy in {Strategy.RING, Strategy.HOT_REPAIR}:
        return rail_costs.hot_repair(rates)
    straggler = find_straggler(rates)
    if strategy is Strategy.R2CC_ALLREDUCE and straggler is not None:
        return cost_model.r2cc_allreduce(
            rates.nodes,
            straggler.lost,
            choice.partial,
            choice.pieces,
            choice.form or "chain",
            1 if choice.form == "helper" else None,
        )
    if strategy is Strategy.OPTCC and straggler is not None:
        form = "simple" if choice.form == "ordering-2" else choice.form or "simple"
        return cost_model.optcc(rates.nodes, straggler.lost, choice.pieces, form)
    if strategy is Strategy.NESTED_OPTCC and choice.pieces is not None:
        return _busiest_nic(rates, choice) * Fraction(choice.pieces + 3, choice.pieces)
    return rail_costs.balance(rates, choice.order) or _busiest_nic(rates, choice)


def _busiest_nic(rates: RailRates, choice: Choice) -> Fraction:
    """Time of the NIC that is busy longest: what a ring with relays takes at least."""
    loads = choice.stripes.rail_loads().items()
    return max(max(both) / rates.rate(nic) for nic, both in loads if rates.is_live(nic))
