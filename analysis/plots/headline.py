"""Paper 2's headline: overhead over the number of participants, without and with the cost of messages."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from analysis import papers, simulated
from analysis.plots import style
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCHEMES = (
    ("r2cc", "R2CC-AllReduce", style.R2CC_ALLREDUCE, style.R2CC_ALLREDUCE_PIECES),
    ("optcc", "OptCC", style.OPTCC, style.Look(style.PURPLE, (0, (3, 1, 1, 1)), "^")),
)
"""Column of the report, name, and the looks without and with alpha."""


def draw(report: Report) -> Figure:
    """Draw a panel for each X, with the two printed numbers across; of several sizes the largest.

    Args:
        report: What `reports.headline.build` made.
    """
    lost, participants = report.values("lost"), report.numbers("participants")
    sizes = report.numbers("size_gib")  # NaN: no alpha
    largest = max((size for size in sizes if size > 0), default=None)
    across = sorted(set(participants))
    panels_lost = list(dict.fromkeys(lost))
    figure, panels = style.new_panels(len(panels_lost), style.TWO_COLUMNS_IN, 2.7)
    for axes, share in zip(panels, panels_lost, strict=True):
        _printed_numbers(axes)
        for key, name, without, with_alpha in SCHEMES:
            plain = [row for row, size in enumerate(sizes) if lost[row] == share and math.isnan(size)]
            _scheme(axes, report, key, plain, without, f"{name}, no alpha")
            if largest is not None:
                rows = [row for row, size in enumerate(sizes) if lost[row] == share and size == largest]
                _scheme(axes, report, key, rows, with_alpha, f"{name}, {largest:g} GiB")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(across, [f"{one:g}" for one in across])
        axes.set_ylim(5e-4, 2)
        axes.set_title(f"X = {share}")
        axes.set_xlabel("participants p")
        style.axis_per_cent(axes, "y")
    panels[0].set_ylabel("overhead (hollow: by formula)")
    style.legend_above(figure, 3)
    return figure


def _printed_numbers(axes: Axes) -> None:
    low, high = map(float, papers.OPTCC_OVERHEADS)
    other = float(papers.STATE_OF_THE_ART_OVERHEAD)
    axes.axhspan(low, high, color="#DDEEDD", label=f"paper 2: {low:.0%} to {high:.0%}")
    axes.axhline(other, color=style.GREY, linewidth=0.9, label=f"paper 2: up to {other:.0%}")


def _scheme(axes: Axes, report: Report, key: str, rows: list[int], look: style.Look, label: str) -> None:
    """Draw one line; its markers are filled where the time was simulated."""
    participants, overheads = report.numbers("participants"), report.numbers(key)
    by = report.values(f"{key}_by")
    style.line(
        axes, [participants[row] for row in rows], [overheads[row] for row in rows], replace(look, marker="")
    )
    for wanted in (simulated.FORMULA, simulated.SIMULATED):
        some = [row for row in rows if by[row] == wanted]
        style.line(
            axes,
            [participants[row] for row in some],
            [overheads[row] for row in some],
            replace(look, dashes="none"),
            hollow=wanted == simulated.FORMULA,
        )
    style.line(axes, [], [], look, label=label)  # line and marker as one entry of the legend
