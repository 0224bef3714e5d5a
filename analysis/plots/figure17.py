"""Figure 17 of paper 1: the gap of the rule Y = X over X, logarithmic, with the numbers of table 1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from analysis import approximation_gap
from analysis.plots import style
from analysis.reports.figure17 import NODES
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = (
    style.Look(style.VERMILION, (0, (4, 1.5)), "s"),
    style.Look(style.BLUE, "-", "o"),
    style.Look(style.GREEN, (0, (5, 1.5, 1, 1.5)), "^"),
)

STEPS = 128
"""Finer than the rows of the report: near 0 and 1 a logarithm bends fast."""


def draw(report: Report) -> Figure:
    """Draw a line of ours and three markers of the paper for each number of nodes.

    Args:
        report: What `reports.figure17.build` made.
    """
    figure, axes = style.new_figure()
    shares = [Fraction(step, STEPS) for step in range(1, STEPS)]
    for nodes, look in zip(NODES, LOOKS, strict=True):
        gaps = [approximation_gap.gap(nodes, lost) for lost in shares]
        style.line(axes, shares, gaps, replace(look, marker=""), label=f"n = {nodes}")
    for nodes, look in zip(NODES, LOOKS, strict=True):
        printed = report.numbers(f"paper_{nodes}")
        markers = replace(look, dashes="none")
        style.line(axes, report.numbers("lost"), printed, markers, label=f"table 1, n = {nodes}", hollow=True)
    axes.set_yscale("log")
    axes.set_xlim(0, 1)
    axes.set_xlabel("lost bandwidth X (fraction of the node's)")
    axes.set_ylabel("gap g(n, X) of Y = X")
    style.axis_per_cent(axes, "y")
    style.legend_above(figure, 2)
    return figure
