"""How schemes stand to the lower bound: time over the fault-free ring, a panel for each lost share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.bound import LOST, PARTICIPANTS
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMES = (
    ("balance", "Balance", style.BALANCE),
    ("r2cc", "R2CC-AllReduce", style.R2CC_ALLREDUCE),
    ("optcc", "OptCC, four stages", style.OPTCC),
    ("bound", "lower bound", style.BOUND),
)


def draw(report: Report) -> Figure:
    """Draw a panel for each X, with overhead over the number of participants.

    Args:
        report: What `reports.bound.build` made.
    """
    figure, panels = style.new_panels(len(LOST), style.TWO_COLUMNS_IN, 2.3)
    for axes, lost in zip(panels, LOST, strict=True):
        rows = [index for index, one in enumerate(report.values("lost")) if one == lost]
        for key, label, look in SCHEMES:
            values = [report.numbers(key)[index] - 1 for index in rows]
            style.line(axes, PARTICIPANTS, values, look, label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(PARTICIPANTS, [str(one) for one in PARTICIPANTS])
        axes.set_ylim(1e-3, 2)
        axes.set_title(f"X = {lost}")
        axes.set_xlabel("participants p")
        style.axis_per_cent(axes, "y")
    panels[0].set_ylabel("overhead over healthy ring")
    style.legend_above(figure, len(SCHEMES))
    return figure
