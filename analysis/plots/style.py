"""How all pictures look, and how they are written.

Columns of a paper are 3.4 or 7 inches wide. Colours are those of Okabe and Ito, which people with colour
blindness tell apart; every line also has its own dashes or marker, so that it reads in grey. matplotlib is
imported by the functions only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from analysis.errors import ModelError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ONE_COLUMN_IN = 3.4
TWO_COLUMNS_IN = 7.0

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"

Dashes = str | tuple[int, tuple[float, ...]]
"""A line style of matplotlib: a name, or (offset, lengths of strokes and gaps)."""

FILE_TYPES = (".png", ".svg")
DOTS_PER_INCH = 200
MARKER_POINTS = 4.5

_SETTINGS: Any = {  # matplotlib names the keys one by one in its types
    "font.family": "DejaVu Sans",  # comes with matplotlib, so files do not depend on the machine's fonts
    "font.size": 7.5,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": MARKER_POINTS,
    "hatch.linewidth": 0.6,
    "patch.edgecolor": "white",  # of hatches too
    "patch.force_edgecolor": True,
    "patch.linewidth": 0,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "figure.constrained_layout.use": True,
    "savefig.dpi": DOTS_PER_INCH,
    "svg.hashsalt": "r2cc",  # else an svg has random names in it
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Look:
    """How one scheme is drawn, in every picture alike.

    Attributes:
        colour: Of lines, markers and bars.
        dashes: A matplotlib line style.
        marker: A matplotlib marker.
    """

    colour: str
    dashes: Dashes
    marker: str


HOT_REPAIR = Look(VERMILION, (0, (5, 1.5, 1, 1.5)), "x")
BALANCE = Look(ORANGE, (0, (4, 1.5)), "s")
R2CC_ALLREDUCE = Look(BLUE, "-", "o")
R2CC_ALLREDUCE_PIECES = Look(SKY, (0, (2.5, 1)), "v")
OPTCC = Look(GREEN, (0, (6, 1, 1, 1, 1, 1)), "D")
BOUND = Look(BLACK, (0, (1, 1.2)), ".")


@contextmanager
def settings() -> Iterator[None]:
    """Apply the settings for as long as figures are made or written.

    Raises:
        ModelError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ModelError(
            "pictures need matplotlib, which is not installed: pip install matplotlib"
        ) from error
    with mpl.rc_context(_SETTINGS):
        yield


def new_figure(width_in: float = ONE_COLUMN_IN, height_in: float = 2.5) -> tuple[Figure, Axes]:
    """Make an empty figure with one pair of axes. Call it within `settings`.

    Args:
        width_in: Width in inches.
        height_in: Height in inches.
    """
    # Not through pyplot: it keeps every figure alive and looks for a screen.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in))
    return figure, figure.add_subplot()


def new_panels(count: int, width_in: float, height_in: float) -> tuple[Figure, list[Axes]]:
    """Make an empty figure of panels that share their vertical axis. Call it within `settings`.

    Args:
        count: How many panels.
        width_in: Width of the figure in inches.
        height_in: Height in inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in))
    return figure, list(figure.subplots(1, count, sharey=True, squeeze=False)[0])


def line(
    axes: Axes,
    across: Sequence[float | Fraction],
    up: Sequence[float | Fraction],
    look: Look,
    *,
    label: str | None = None,
    hollow: bool = False,
    markersize: float = MARKER_POINTS,
) -> None:
    """Draw a line, its markers, or both.

    Args:
        axes: Where.
        across: The horizontal values.
        up: The vertical values, as many; NaN leaves one out.
        look: Colour, dashes ("none": markers only) and marker ("": line only).
        label: Name in the legend; None: not in it.
        hollow: Whether markers are white inside, as those of printed and measured numbers are.
        markersize: In points; 0: no markers.
    """
    axes.plot(
        [float(value) for value in across],
        [float(value) for value in up],
        color=look.colour,
        linestyle=look.dashes,
        marker=look.marker,
        markersize=markersize,
        markerfacecolor="white" if hollow else look.colour,
        label=label,
    )


def legend_above(figure: Figure, columns: int) -> None:
    """Put the legend above the axes, where it hides no data.

    Args:
        figure: The figure, with everything drawn.
        columns: How many entries stand side by side.
    """
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, columnspacing=1.2)


def axis_per_cent(axes: Axes, which: Literal["x", "y"]) -> None:
    """Write the ticks of an axis of fractions in per cent, with as many digits as they need.

    Args:
        axes: The axes.
        which: "x" or "y".
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: f"{100 * value:g}%")


def save(figure: Figure, file: Path) -> None:
    """Write a figure; the same figure gives the same bytes. Call it within `settings`.

    Args:
        figure: The figure.
        file: Where to; its ending says what, one of FILE_TYPES.

    Raises:
        ModelError: The ending is another one.
        OSError: The file cannot be written.
    """
    kind = file.suffix.lower()
    if kind not in FILE_TYPES:
        raise ModelError(f"{file}: pictures are png or svg, end the name with {' or '.join(FILE_TYPES)}")
    # What matplotlib would add by itself: the date to an svg, its own version to a png.
    metadata = {"Date": None, "Creator": None} if kind == ".svg" else {"Software": None}
    figure.savefig(file, format=kind[1:], metadata=metadata)
