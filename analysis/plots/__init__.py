"""Pictures of the reports: one file for each, `draw` makes its figure. matplotlib is needed only to draw.

Call `draw` and `style.save` within `style.settings`. Reading order: `style`, `figure17` (the shortest).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from analysis.plots import (
    bound,
    failures,
    figure6,
    figure7,
    figure17,
    headline,
    k_sweep,
    table4,
    training,
)
from analysis.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES: Mapping[str, Callable[[Report], Figure]] = MappingProxyType(
    {
        "bound": bound.draw,
        "failures": failures.draw,
        "figure6": figure6.draw,
        "figure7": figure7.draw,
        "figure17": figure17.draw,
        "headline": headline.draw,
        "k-sweep": k_sweep.draw,
        "table4": table4.draw,
        "training": training.draw,
    }
)
"""What draws each report, by its name. Table 1 has no picture of its own: figure 17 shows its numbers."""
