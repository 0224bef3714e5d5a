"""What an overhead of AllReduce does to an iteration of training, and what the papers' 1.1 % takes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from analysis import papers, training
from analysis.errors import ModelError
from analysis.reports.degraded import Degraded
from analysis.reports.report import Column, Fact, Form, Report

EXPOSED = (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
"""Shares of an iteration to show when nobody names others; the papers tell none."""

AS_IN_PAPER_1 = Degraded.by_share(papers.TRAINING_SERVERS, Fraction(1, papers.TRAINING_RAILS))


def build(case: Degraded = AS_IN_PAPER_1, exposed: Sequence[Fraction] = EXPOSED) -> Report:
    """Make the report: a row for each scheme.

    Args:
        case: The degraded cluster, of at least 3 nodes.
        exposed: Shares of the healthy iteration in which compute waits for AllReduce, from 0 to 1.

    Raises:
        ModelError: There are only two nodes, or a share is not from 0 to 1.
    """
    if case.nodes < 3:
        raise ModelError(f"{case.nodes} nodes: OptCC, which is compared too, needs at least 3")
    shares = sorted(set(exposed))
    schemes = training.table(case.nodes, case.rails, len(case.dead))
    target = papers.TRAINING_OVERHEAD
    return Report(
        name="training",
        title=(
            f"Overhead of a training iteration, one of {case.nodes} nodes having lost {case.lost} of its "
            "bandwidth"
        ),
        source="derived here (analysis.training); 1.1 %: abstract of paper 1 (R2CC, arXiv 2512.25059)",
        columns=(
            Column("scheme", "scheme", form=Form.TEXT),
            Column("allreduce_overhead", "AllReduce", form=Form.PERCENT, digits=1),
            *(
                Column(f"iteration_at_{share}", f"at {_percent(share)}", form=Form.PERCENT, digits=2)
                for share in shares
            ),
            Column("exposed_for_target", f"{_percent(target)} at", form=Form.PERCENT, digits=2),
        ),
        rows=tuple(
            (
                one.scheme,
                one.allreduce_overhead,
                *(training.iteration_overhead(one.allreduce_overhead, share) for share in shares),
                one.exposed_share,
            )
            for one in schemes
        ),
        facts=(
            Fact(Column("nodes", "nodes", form=Form.WHOLE), case.nodes),
            Fact(Column("lost", "X", form=Form.EXACT), case.lost),
            Fact(Column("target", "paper 1: training overhead below", form=Form.PERCENT, digits=1), target),
        ),
        notes=(
            (
                "AllReduce: overhead of the scheme, pipelines fine. at S %: overhead of an iteration that "
                "exposes S % of its time to AllReduce, the part no compute hides: the product. "
                f"{_percent(target)} at: the exposed share at which the scheme reaches that overhead; a "
                "smaller share stays below it."
            ),
            (
                "The model: exposed communication grows in proportion, all else stays, and what was hidden "
                "stays hidden (training.iteration_overhead_with_overlap has the other case). The papers do "
                "not tell the exposed share of their runs, so 1.1 % is neither confirmed nor refuted here."
            ),
            *(["HotRepair: dead rails side by side, its worst case."] if len(case.dead) > 1 else ()),
        ),
    )


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.4g} %"
