"""Table 1 of paper 1: what the rule Y = X gives away against the best Y, all nine digits of it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from analysis import approximation_gap, papers
from analysis.reports.report import Column, Form, Report


def build(printed: Mapping[tuple[int, Fraction], Decimal] = papers.TABLE_1) -> Report:
    """Make the report: a row for each number of the table.

    Args:
        printed: The table, in per cent by (n, X).

    Returns:
        The report. It is not ok if a computed gap, rounded to the printed digits, differs from a printed one.
    """
    rows = []
    for (nodes, lost), percent in printed.items():
        gap = approximation_gap.gap(nodes, lost)
        agrees = papers.rounded_like(100 * gap, percent) == percent
        paper = percent.scaleb(-2)
        rows.append((nodes, lost, paper, gap, gap - Fraction(paper), "yes" if agrees else "NO"))
    wrong = sum(row[-1] == "NO" for row in rows)
    return Report(
        name="table1",
        title="Relative approximation gap g(n, X) = (T(X) - T(Y*)) / T(Y*) of the rule Y = X",
        source="paper: table 1 of paper 1 (R2CC, arXiv 2512.25059); computed: approximation_gap.gap, exact",
        columns=(
            Column("nodes", "n", form=Form.WHOLE),
            Column("lost", "X", form=Form.EXACT),
            Column("paper", "paper", form=Form.PERCENT, digits=5),
            Column("computed", "computed", form=Form.PERCENT, digits=7),
            Column("difference", "difference", form=Form.PERCENT, digits=7, signed=True),
            Column("agrees", "agrees", form=Form.TEXT),
        ),
        rows=tuple(rows),
        notes=(
            "agrees: the computed gap, rounded to the digits that the paper prints, is the printed number. "
            + (f"{wrong} of {len(rows)} DIFFER." if wrong else f"All {len(rows)} do."),
        ),
        ok=not wrong,
    )
