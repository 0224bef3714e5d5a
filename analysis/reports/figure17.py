"""Figure 17 of paper 1: the gap of table 1 as curves over X, for 4, 16 and 64 nodes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from analysis import approximation_gap, papers
from analysis.reports.report import Cell, Column, Form, Report

NODES = (4, 16, 64)

STEPS = 32
"""X goes in steps of 1/32: enough to draw by, and the paper's X are among them."""


def build(printed: Mapping[tuple[int, Fraction], Decimal] = papers.TABLE_1) -> Report:
    """Make the report: a row for each X, and in it the gaps and the paper's numbers where it prints one.

    Args:
        printed: Table 1, in per cent by (n, X).

    Returns:
        The report. It is not ok if a gap, rounded to the printed digits, differs from a printed one.
    """
    ours = [Column(f"gap_{n}", f"n={n}", form=Form.PERCENT, digits=5) for n in NODES]
    papers_own = [Column(f"paper_{n}", f"paper n={n}", form=Form.PERCENT, digits=5) for n in NODES]
    ok = all(
        papers.rounded_like(100 * approximation_gap.gap(nodes, lost), percent) == percent
        for (nodes, lost), percent in printed.items()
    )
    return Report(
        name="figure17",
        title="Relative approximation gap g(n, X) of the rule Y = X over the lost share X",
        source=(
            "figure 17 and table 1 of paper 1 (R2CC, arXiv 2512.25059); computed: approximation_gap.gap, "
            "exact"
        ),
        columns=(Column("lost", "X", form=Form.EXACT), *ours, *papers_own),
        rows=tuple(_row(Fraction(step, STEPS), printed) for step in range(1, STEPS)),
        notes=(
            "The paper's columns are the numbers of table 1, those of the figure that are printed; "
            + ("all of them agree." if ok else "NOT all of them agree, see r2cc analyze table1."),
            "Largest near X = 1/2, and it falls as 1/n^2: the simple rule Y = X costs next to nothing.",
        ),
        ok=ok,
    )


def _row(lost: Fraction, printed: Mapping[tuple[int, Fraction], Decimal]) -> tuple[Cell, ...]:
    paper = [printed.get((nodes, lost)) for nodes in NODES]
    return (
        lost,
        *(approximation_gap.gap(nodes, lost) for nodes in NODES),
        *(None if percent is None else percent.scaleb(-2) for percent in paper),
    )
