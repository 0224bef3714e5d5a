"""Random dead rails: the overhead of each scheme over how many there are, a panel for each cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.failures import SCHEMES
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {
    "hot_repair": style.HOT_REPAIR,
    "balance": style.BALANCE,
    "re_ranked": style.Look(style.PURPLE, (0, (3, 1, 1, 1)), "^"),
    "r2cc": style.R2CC_ALLREDUCE,
    "best": style.OPTCC,
    "bound": style.BOUND,
}


def draw(report: Report) -> Figure:
    """Draw the mean as a line with markers, and the 95th percentile as hollow markers.

    What is infinite is left out.

    Args:
        report: What `reports.failures.build` made.
    """
    nodes, counts, names = map(report.values, ("nodes", "dead_rails", "scheme"))
    clusters = list(dict.fromkeys(nodes))
    figure, panels = style.new_panels(len(clusters), style.TWO_COLUMNS_IN, 3.0)
    across = sorted({float(count or 0) for count in counts})
    for axes, cluster in zip(panels, clusters, strict=True):
        for scheme, look in LOOKS.items():
            rows = [
                row for row, name in enumerate(names) if nodes[row] == cluster and name == SCHEMES[scheme]
            ]
            mean, p95 = ([report.numbers(key)[row] for row in rows] for key in ("mean", "p95"))
            style.line(axes, across, mean, look, label=SCHEMES[scheme])
            style.line(axes, across, p95, replace(look, dashes="none"), hollow=True, markersize=3)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(across, [f"{one:g}" for one in across])
        axes.set_title(f"{cluster} nodes")
        axes.set_xlabel("random dead rails k")
        style.axis_per_cent(axes, "y")
    panels[0].set_ylabel("overhead (line: mean, hollow: p95)")
    style.legend_above(figure, 3)
    return figure
