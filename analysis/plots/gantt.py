"""When each port was occupied: a row for every port, a bar for every stripe, coloured by its stage."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from analysis.plots import style
from analysis.simulation.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (
    style.BLUE,
    style.ORANGE,
    style.SKY,
    style.VERMILION,
    style.GREEN,
    style.PURPLE,
    style.GREY,
    style.BLACK,
)
"""Of stages, in program order; more stages start again, hatched."""

ROW_IN = 0.105
"""Height of a row in inches."""

OUTLINED = 4000
"""Up to so many bars each has an outline; more would be nothing but outlines."""


def draw(timelines: Sequence[Timeline], unit: float, name: str) -> Figure:
    """Draw collectives one after another.

    Args:
        timelines: What happened, one for each collective; all on one cluster.
        unit: What one D/B is, in the unit of the axis.
        name: Name of that unit.
    """
    ports = timelines[0].ports
    nics = ports.nodes * ports.rails
    height = 1.0 + 2 * nics * ROW_IN
    figure, axes = style.new_figure(style.TWO_COLUMNS_IN, height)
    looks = _looks(timelines)
    outline = 0.3 if sum(len(one.start) for one in timelines) <= OUTLINED else 0.0
    begin = Fraction(0)
    for number, timeline in enumerate(timelines):
        if number:
            axes.axvline(float(begin) * unit, color=style.BLACK, linewidth=0.6, linestyle=(0, (4, 2)))
        stages = timeline.stripes.schedule.columns.stage[timeline.stripes.transfer]
        first = (timeline.start / timeline.clock.per_unit + float(begin)) * unit
        width = (timeline.end - timeline.start) / timeline.clock.per_unit * unit
        for index, stage in enumerate(timeline.stripes.schedule.stages):
            for is_lost in (False, True):
                rows = (stages[timeline.stripe] == index) & (timeline.is_lost == is_lost)
                colour, hatch = ("white", "xxxxx") if is_lost else looks[stage]
                for column in (timeline.one, timeline.other):
                    shown = rows & (column < 2 * nics)
                    axes.bar(
                        first[shown],
                        height=0.86,
                        width=width[shown],
                        bottom=column[shown] - 0.43,
                        align="edge",
                        color=colour,
                        hatch=hatch,
                        edgecolor=style.VERMILION if is_lost else "white",
                        linewidth=outline,
                    )
        begin += timeline.completion
    _label(figure, ports.nodes, ports.rails, float(begin) * unit, name)
    _legend(figure, looks, has_lost=any(bool(one.is_lost.any()) for one in timelines))
    return figure


def _looks(timelines: Sequence[Timeline]) -> dict[str, tuple[str, str]]:
    """Give every stage a colour, and a hatch where colours run out."""
    stages = dict.fromkeys(stage for one in timelines for stage in one.stripes.schedule.stages)
    hatches = ("", "////", "....")
    return {
        stage: (COLOURS[index % len(COLOURS)], hatches[index // len(COLOURS) % len(hatches)])
        for index, stage in enumerate(stages)
    }


def _label(figure: Figure, nodes: int, rails: int, end: float, name: str) -> None:
    axes = figure.axes[0]
    rows = range(nodes * rails)
    axes.yaxis.set_ticks(
        [2 * row + 0.5 for row in rows], [f"{row // rails}:{row % rails}" for row in rows], fontsize=6
    )
    axes.set(xlim=(0, end * 1.005), ylim=(2 * nodes * rails - 0.4, -0.6))
    axes.grid(visible=False, axis="y")
    for row in rows[1:]:
        is_node = row % rails == 0
        axes.axhline(
            2 * row - 0.5, color=style.BLACK if is_node else "#CCCCCC", linewidth=0.6 if is_node else 0.4
        )
    axes.set_xlabel(f"time ({name})")
    axes.set_ylabel("node:rail (above sends, below receives)")


def _legend(figure: Figure, looks: dict[str, tuple[str, str]], *, has_lost: bool) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=stage)
        for stage, (colour, hatch) in looks.items()
    ]
    if has_lost:
        handles.append(
            Patch(facecolor="white", hatch="xxxxx", edgecolor=style.VERMILION, label="lost, sent again")
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(handles)), columnspacing=1.2)
