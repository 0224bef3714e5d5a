"""Figure 6 of paper 1: what a node carries in each scheme, as bars; the paper's own count beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 0.27

BARS = (
    ("degraded", "load_large_n", "degraded node, large n (paper)", style.GREY, "///"),
    ("degraded", "load", "degraded node, exact", style.BLUE, ""),
    ("healthy", "load", "healthy node, exact", style.ORANGE, "..."),
)
"""The bars of a scheme from the left: rows of which node, which column, name, colour and hatch."""


def draw(report: Report) -> Figure:
    """Draw three bars for each scheme: degraded node as the paper counts and exactly, healthy node.

    Args:
        report: What `reports.figure6.build` made.
    """
    figure, axes = style.new_figure(style.ONE_COLUMN_IN, 2.7)
    schemes = list(dict.fromkeys(map(str, report.values("scheme"))))
    for place, (node, key, label, colour, hatch) in enumerate(BARS):
        rows = zip(report.values(key), report.values("node"), strict=True)
        of_node = [load for load, kind in rows if kind == node]
        loads = {index: load for index, load in enumerate(of_node) if load is not None}
        drawn = axes.bar(
            [index + (place - 1) * WIDTH for index in loads],
            [float(load) for load in loads.values()],
            0.92 * WIDTH,
            label=label,
            color=colour,
            hatch=hatch,
        )
        axes.bar_label(drawn, [str(load) for load in loads.values()], padding=1, fontsize=7)
    axes.set_xticks(range(len(schemes)), schemes)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, 1.12 * axes.get_ylim()[1])
    axes.set_ylabel("load in each direction (D)")
    style.legend_above(figure, 1)
    return figure
