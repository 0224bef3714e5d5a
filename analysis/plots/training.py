"""Overhead of a training iteration over the share of it that is exposed to AllReduce."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {
    "HotRepair": style.HOT_REPAIR,
    "Balance": style.BALANCE,
    "R2CC-AllReduce": style.R2CC_ALLREDUCE,
    "OptCC, four stages": style.OPTCC,
    "OptCC, mixture": style.BOUND,
}

TOP = 3
"""The vertical axis ends at so many times the target."""

RIGHT = 0.4
"""The horizontal axis ends at this share; more exposed communication is no training anybody runs."""


def draw(report: Report) -> Figure:
    """Draw a line for each scheme, and a marker where it reaches the paper's overhead.

    Args:
        report: What `reports.training.build` made.
    """
    figure, axes = style.new_figure(style.ONE_COLUMN_IN, 2.7)
    target = report.fact_number("target")
    axes.axhline(target, color=style.GREY, linewidth=0.9, label=f"paper 1: below {target:.1%}")
    for scheme, overhead, share in zip(
        report.values("scheme"),
        report.numbers("allreduce_overhead"),
        report.numbers("exposed_for_target"),
        strict=True,
    ):
        look = LOOKS[str(scheme)]
        style.line(axes, [0, RIGHT], [0, RIGHT * overhead], replace(look, marker=""))
        style.line(axes, [share], [target], replace(look, dashes="none"))
        style.line(axes, [], [], look, label=str(scheme))  # both as one entry of the legend
    axes.set_xlim(0, RIGHT)
    axes.set_ylim(0, TOP * target)
    axes.set_xlabel("share of the iteration exposed to AllReduce")
    axes.set_ylabel("overhead of the iteration")
    style.axis_per_cent(axes, "x")
    style.axis_per_cent(axes, "y")
    style.legend_above(figure, 2)
    return figure
