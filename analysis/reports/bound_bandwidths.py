"""The node-level bound for any bandwidths: its time, what binds, and the weights that reach it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from analysis import cost_model, lower_bound
from analysis.errors import ModelError
from analysis.reports.report import Column, Fact, Form, Report


def build(bandwidths: Sequence[Fraction]) -> Report:
    """Make the report: a row for each node.

    Args:
        bandwidths: Of each node, in units of B; at least two.

    Raises:
        ModelError: There are fewer than two, or one is not above zero.
    """
    nodes = len(bandwidths)
    if nodes < 2:
        raise ModelError("a single node exchanges nothing: give the bandwidths of at least 2")
    time = lower_bound.allreduce(bandwidths)
    rows = []
    for node, weight in enumerate(lower_bound.water_filling(bandwidths)):
        load = 1 + (nodes - 2) * weight
        rows.append((node, bandwidths[node], weight, load, load / bandwidths[node]))
    rings = lower_bound.nested_mixture(bandwidths)
    mixture = "; ".join(f"{share} by {_members(members)}" for _, share, members in rings)
    return Report(
        name="bound",
        title=f"Least time of an allreduce of D on {nodes} nodes, any two of which may use all they have",
        source=(
            "derived here; its consequences are those that paper 2 (OptCC, arXiv 2606.01680) states for its "
            "bound"
        ),
        columns=(
            Column("node", "node", form=Form.WHOLE),
            Column("bandwidth", "bandwidth", "B", Form.EXACT),
            Column("weight", "weight", form=Form.EXACT),
            Column("load", "load", "D"),
            Column("busy", "busy", "D/B"),
        ),
        rows=tuple(rows),
        facts=(
            Fact(Column("time", "bound", "D/B"), time),
            Fact(Column("binds", "what binds", form=Form.TEXT), lower_bound.binding_term(bandwidths)),
            Fact(Column("over_healthy", "over the ring of healthy nodes"), time / cost_model.ring(nodes)),
            Fact(Column("mixture", "reached by rings", form=Form.TEXT), mixture),
        ),
        notes=(
            (
                "weight: the part of the data that the node owns, that is, sums up and spreads (water "
                "filling). load: what it then sends, and what it receives. busy: load over bandwidth, for "
                "no node more than the bound."
            ),
            (
                "reached by rings: parts of the data, each reduced by a ring of the named nodes, which own "
                "equal parts of it; every other node gives its contribution to the owners and takes their "
                "results (nested OptCC)."
            ),
            (
                "With rails that do not reach each other the least time can be longer: give --nodes, "
                "--rails and --fail instead."
            ),
        ),
    )


def _members(nodes: Sequence[int]) -> str:
    if len(nodes) == 1:
        return f"node {nodes[0]} alone"
    return f"nodes {', '.join(map(str, sorted(nodes)))}"
