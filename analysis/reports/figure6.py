"""Figure 6 of paper 1: what each node carries in R2CC-AllReduce, counted exactly and as the paper does."""

from __future__ import annotations

from fractions import Fraction

from analysis import loads, papers
from analysis.errors import ModelError
from analysis.reports.report import Cell, Column, Fact, Form, Report

NODES = papers.FIGURE_6_NODES
LOST = papers.FIGURE_6_LOST


def build(nodes: int = NODES, lost: Fraction = LOST) -> Report:
    """Make the report: a row for each scheme and kind of node.

    Args:
        nodes: n, at least 2.
        lost: X, above 0 and below 1; Y = X, as in the figure.

    Raises:
        ModelError: An argument is out of range.
    """
    if not 0 < lost < 1:
        raise ModelError(f"no node is degraded that has lost {lost}: give more than 0, less than 1")
    kept = 1 - lost
    ring = loads.ring(nodes)
    two_stage = loads.r2cc_allreduce(nodes, lost)
    is_paper = (nodes, lost) == (NODES, LOST)
    rows = [
        _row("Balance", "degraded", ring.degraded, kept, 2, papers.FIGURE_6_RING_LOAD if is_paper else None),
        _row("Balance", "healthy", ring.healthy, 1),
        _row(
            "R2CC-AllReduce",
            "degraded",
            two_stage.degraded,
            kept,
            loads.r2cc_allreduce_degraded_large_n(lost),
            papers.FIGURE_6_LOAD if is_paper else None,
        ),
        _row("R2CC-AllReduce", "healthy", two_stage.healthy, 1),
    ]
    if nodes > 2:
        four_stages = loads.optcc(nodes, lost)
        rows.append(_row("OptCC", "degraded", four_stages.degraded, kept))
        rows.append(_row("OptCC", "healthy", four_stages.healthy, 1))
    agrees = not is_paper or loads.r2cc_allreduce_degraded_large_n(lost) == papers.FIGURE_6_LOAD
    return Report(
        name="figure6",
        title=(
            f"Load of a node in each direction, one of {nodes} nodes having lost {lost} of its bandwidth, Y "
            "= X"
        ),
        source="paper: caption of figure 6 of paper 1 (R2CC, arXiv 2512.25059); exact: analysis.loads",
        columns=(
            Column("scheme", "scheme", form=Form.TEXT),
            Column("node", "node", form=Form.TEXT),
            Column("load", "exact", "D", Form.EXACT),
            Column("load_large_n", "large n", "D", Form.EXACT),
            Column("paper", "paper", "D", Form.EXACT),
            Column("busy", "busy", "D/B"),
        ),
        rows=tuple(rows),
        facts=(
            Fact(Column("nodes", "nodes", form=Form.WHOLE), nodes),
            Fact(Column("lost", "X = Y", form=Form.EXACT), lost),
            Fact(
                Column("saved", "the degraded node saves over Balance", form=Form.PERCENT, digits=1),
                1 - two_stage.degraded / ring.degraded,
            ),
        ),
        notes=(
            (
                "Why two counts: a ring over n nodes carries 2 (n-1)/n of the data, which the paper takes "
                "for 2, as it is for many nodes. R2CC-AllReduce is then 2 (1-Y) + Y; exactly it is 2 "
                "(n-1)/n (1-Y) + Y. Compare exact with exact and large n with large n, never one with the "
                "other."
            ),
            (
                "busy: the exact load over the bandwidth that the node has left. The longest of a scheme is "
                "a bound on its time; R2CC-AllReduce, finely pipelined, takes as long as its degraded node "
                "is busy."
            ),
        ),
        ok=agrees,
    )


def _row(
    scheme: str,
    node: str,
    load: Fraction,
    bandwidth: Fraction | int,
    large_n: Fraction | int | None = None,
    paper: Fraction | None = None,
) -> tuple[Cell, ...]:
    return scheme, node, load, large_n, paper, load / bandwidth
