"""The sweep over K: the two forms of the second stage as lines, Balance, and the authors' measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHAIN = replace(style.R2CC_ALLREDUCE, marker="")
HELPER = replace(style.OPTCC, marker="")
BALANCE = replace(style.BALANCE, marker="")
FINE = replace(style.BOUND, marker="")
MEASURED = style.Look(style.BLACK, "none", "o")


def draw(report: Report) -> Figure:
    """Draw time over K, which is logarithmic.

    Args:
        report: What `reports.k_sweep.build` made; its last row is K without end.
    """
    figure, axes = style.new_figure()
    pieces = [float(str(text)) for text in report.values("pieces")[:-1]]
    ends = [min(pieces), max(pieces)]
    chain = report.numbers("chain")
    style.line(axes, pieces, chain[:-1], CHAIN, label="chain (derived here)")
    style.line(axes, pieces, report.numbers("helper")[:-1], HELPER, label="helper (authors' model)")
    style.line(axes, ends, 2 * [report.fact_number("balance")], BALANCE, label="Balance")
    style.line(axes, ends, 2 * chain[-1:], FINE, label="infinitely many pieces")
    if any(column.key == "measured" for column in report.columns):
        measured = report.numbers("measured")[:-1]
        style.line(axes, pieces, measured, MEASURED, label="measured by the authors", hollow=True)
    axes.set_xscale("log", base=2)
    axes.set_xticks(pieces, [f"{one:g}" for one in pieces])
    axes.set_xlabel("pieces K of stage 2")
    axes.set_ylabel("time over the healthy ring")
    style.legend_above(figure, 2)
    return figure
