"""Figure 7 of paper 1: overhead of each scheme over the lost share of one node's bandwidth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.figure7 import PIECES, overheads
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LOST = Fraction(1, 2)
"""The papers look at losses up to one half; beyond, everything runs off the picture."""

STEPS = 60

TOP = 1.12
"""A little above HotRepair's 100 %. What is worse runs out of the picture, as few pieces do on many nodes."""

MOST_MARKERS = 16
"""With more rails than this the markers would run into each other."""

LINES = (
    ("balance", "Balance", style.BALANCE),
    ("r2cc_pieces", f"R2CC-AllReduce, K = {PIECES}", style.R2CC_ALLREDUCE_PIECES),
    ("r2cc", "R2CC-AllReduce", style.R2CC_ALLREDUCE),
    ("optcc", "OptCC", style.OPTCC),
    ("bound", "lower bound", style.BOUND),
)
"""Column of the report, name and look of what depends on X alone."""


def draw(report: Report) -> Figure:
    """Draw a line for each scheme that there is, and a marker wherever a number of dead rails lies.

    Args:
        report: What `reports.figure7.build` made.
    """
    figure, axes = style.new_figure(style.ONE_COLUMN_IN, 2.9)
    nodes, rails = int(report.fact_number("nodes")), int(report.fact_number("rails"))
    shares = [MOST_LOST * step / STEPS for step in range(STEPS + 1)]
    curves = [overheads(nodes, lost) for lost in shares]
    rows = rails // 2  # those up to MOST_LOST
    at = report.numbers("lost")[:rows]
    size = style.MARKER_POINTS if rails <= MOST_MARKERS else 0

    look = style.HOT_REPAIR
    repaired = report.numbers("hot_repair")[:rows]
    style.line(axes, at, repaired, look, label="HotRepair (best case)", markersize=size)
    for key, label, look in LINES:
        values = [getattr(one, key) for one in curves]
        if None not in values:
            style.line(axes, shares, values, replace(look, marker=""))
            style.line(axes, at, report.numbers(key)[:rows], replace(look, dashes="none"), markersize=size)
            style.line(axes, [], [], look, label=label, markersize=size)  # both as one entry of the legend
    axes.set_xlim(0, 1.03 * float(MOST_LOST))
    axes.set_ylim(0, TOP)
    axes.set_xlabel("lost bandwidth X (fraction of the node's)")
    axes.set_ylabel("overhead over the fault-free ring")
    style.axis_per_cent(axes, "y")
    style.legend_above(figure, 2)
    return figure
