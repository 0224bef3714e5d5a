"""What can be reached at all, one node being degraded: schemes and bound over participants and lost share."""

from __future__ import annotations

from fractions import Fraction

from analysis import cost_model, lower_bound
from analysis.reports.report import Cell, Column, Form, Report

PARTICIPANTS = (4, 8, 16, 64)
LOST = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))


def build() -> Report:
    """Make the report: a row for each number of participants and each lost share."""
    columns = (
        Column("participants", "p", form=Form.WHOLE),
        Column("lost", "X", form=Form.EXACT),
        Column("balance", "Balance"),
        Column("r2cc", "R2CC"),
        Column("optcc", "OptCC"),
        Column("bound", "bound"),
        Column("overhead", "unavoidable", form=Form.PERCENT, digits=1),
        Column("binds", "what binds", form=Form.TEXT),
    )
    return Report(
        name="bound",
        title="Time over the fault-free ring, one of p nodes having lost the share X of its bandwidth",
        source=(
            "closed forms of cost_model and lower_bound; paper 2 (OptCC, arXiv 2606.01680) claims an "
            "unavoidable overhead of O(1/p) for X up to 1/2"
        ),
        columns=columns,
        rows=tuple(_row(nodes, lost) for nodes in PARTICIPANTS for lost in LOST),
        notes=(
            (
                "Balance: the ring on what the degraded node has left. R2CC: R2CC-AllReduce with Y = X, "
                "infinitely many pieces. OptCC: the pure four stages, infinitely many segments."
            ),
            "unavoidable: the bound's own overhead. At X up to 1/2 it is at most 1/(p-1).",
            "Where OptCC misses the bound, a mixture with the plain ring reaches it (derived here).",
            (
                "Paper 2's headline: OptCC within 2 to 6 % of the fault-free ring at up to 50 % loss, the "
                "state of the art up to 57 %. R2CC at p = 8, X = 1/2 is that 57.1 %; the bound there is "
                "14.3 % by itself, and 2 to 6 % at X = 1/2 needs p of about 18 to 51. Which p the paper "
                "used is not known."
            ),
        ),
    )


def _row(nodes: int, lost: Fraction) -> tuple[Cell, ...]:
    healthy = cost_model.ring(nodes)
    bound = lower_bound.one_straggler(nodes, lost)
    return (
        nodes,
        lost,
        cost_model.balance(nodes, lost) / healthy,
        cost_model.r2cc_allreduce(nodes, lost) / healthy,
        cost_model.optcc(nodes, lost) / healthy,
        bound / healthy,
        bound / healthy - 1,
        lower_bound.binding_term([Fraction(1)] * (nodes - 1) + [1 - lost]),
    )
