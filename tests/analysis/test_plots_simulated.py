from __future__ import annotations

from fractions import Fraction

import pytest

from analysis.plots import PICTURES, style
from analysis.reports import failures, headline


@pytest.fixture
def drawing():
    """Apply the settings that figures are made with."""
    with style.settings():
        yield


def markers(axes, *, hollow):
    """Collect where a picture has markers without a line, filled or hollow."""
    found: set[tuple[float, float]] = set()
    for line in axes.get_lines():
        if line.get_linestyle() == "None" and (line.get_markerfacecolor() == "white") == hollow:
            found.update(points_of(line))
    return found


def points(report, by):
    """List p and overhead of both schemes at X = 1/8, the largest size or none, found in one way."""
    keys = [column.key for column in report.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in report.rows if row[1] == Fraction(1, 8)]
    largest = max(row["size_gib"] or 0 for row in rows)
    return {
        (row["participants"], float(row[key]))
        for row in rows
        for key in ("r2cc", "optcc")
        if row["size_gib"] in {None, largest} and row[f"{key}_by"] == by
    }


def points_of(line):
    """List the points of a line, as pairs."""
    return list(zip(*line.get_data(), strict=True))


@pytest.mark.usefixtures("drawing")
def test_headline_shows_what_is_simulated():
    """Markers are filled where the report says simulated, else hollow; of two sizes the larger is drawn."""
    report = headline.build(sizes=(2**30, 2**34), participants=(8, 16, 32), most=4000)
    axes = PICTURES["headline"](report).axes[0]
    assert markers(axes, hollow=False) == points(report, "simulated") != set()
    assert markers(axes, hollow=True) == points(report, "formula") != set()


@pytest.mark.usefixtures("drawing")
def test_failures_draw_means_and_95th_percentiles():
    """Each scheme has its line of means and hollow markers at the 95th percentile, in each panel."""
    report = failures.build(samples=50)
    figure = PICTURES["failures"](report)
    assert [axes.get_title() for axes in figure.axes] == ["64 nodes", "128 nodes"]
    in_panel = len(failures.DEAD) * len(failures.SCHEMES)
    for panel, axes in enumerate(figure.axes):
        lines, hollow = axes.get_lines()[0::2], axes.get_lines()[1::2]
        assert [line.get_label() for line in lines] == list(failures.SCHEMES.values())
        for scheme, (line, marks) in enumerate(zip(lines, hollow, strict=True)):
            rows = range(panel * in_panel + scheme, (panel + 1) * in_panel, len(failures.SCHEMES))
            means, p95s = ([report.numbers(key)[row] for row in rows] for key in ("mean", "p95"))
            assert points_of(line) == list(zip(failures.DEAD, means, strict=True))
            assert points_of(marks) == list(zip(failures.DEAD, p95s, strict=True))
