"""Table 4 of paper 1: times over the healthy graph's, measured and by the model, as bars."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 0.4


def draw(report: Report) -> Figure:
    """Draw a bar for each replayed graph, and one for its measurement if there is one.

    Args:
        report: What `reports.table4.build` made.
    """
    figure, axes = style.new_figure(style.ONE_COLUMN_IN, 2.4)
    names = [textwrap.fill(str(name), 17) for name in report.values("graph")]
    bars = [("model", "model", style.BLUE, "")]
    if any(column.key == "measured" for column in report.columns):
        bars.append(("measured", "measured by the authors", style.GREY, "///"))
    for place, (key, label, colour, hatch) in enumerate(bars):
        at = [index + (place - (len(bars) - 1) / 2) * HEIGHT for index in range(len(names))]
        drawn = axes.barh(at, report.numbers(key), 0.92 * HEIGHT, label=label, color=colour, hatch=hatch)
        axes.bar_label(drawn, fmt="%.3f", padding=2, fontsize=7)
    axes.yaxis.set_ticks([float(row) for row in range(len(names))], names)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first one on top
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 1.13 * axes.get_xlim()[1])
    axes.set_xlabel("time over the healthy ring")
    style.legend_above(figure, 2)
    return figure
