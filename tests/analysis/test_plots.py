from __future__ import annotations

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from analysis.errors import ModelError
from analysis.plots import PICTURES, style
from analysis.reports import (
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
from analysis.reports.degraded import Degraded

REPORTS = {
    "bound": bound.build(),
    "failures": failures.build(samples=50),
    "figure6": figure6.build(),
    "figure7": figure7.build(),
    "figure17": figure17.build(),
    "headline": headline.build(participants=(8, 16, 32, 64, 128), most=4000),
    "k-sweep": k_sweep.build(),
    "table4": table4.build(),
    "training": training.build(),
}

OTHERS = {
    "figure6 of two nodes": figure6.build(2, Fraction(1, 2)),
    "figure7 of two nodes": figure7.build(2, 3),
    "figure7 of many rails": figure7.build(64, 64),
    "failures of a small cluster": failures.build([(2, 2)], [1, 2, 3], samples=20),
    "headline without alpha": headline.build(sizes=(), participants=(8, 64)),
    "k-sweep elsewhere": k_sweep.build(Degraded(4, 8, (0,))),
    "table4 elsewhere": table4.build(Degraded(4, 8, (0, 1))),
    "training of many nodes": training.build(Degraded(64, 8, (0,))),
}


@pytest.fixture
def drawing():
    """Apply the settings that figures are made with."""
    with style.settings():
        yield


@cache
def draw(report):
    """Draw a report and lay it out as it is laid out in a file; the same figure for the same report."""
    figure = PICTURES[report.name](report)
    FigureCanvasAgg(figure).draw()
    return figure


def legend_of(figure):
    """List the names in the legend."""
    return [entry.get_text() for entry in figure.legends[0].get_texts()]


def test_every_report_has_its_picture():
    """There is a picture for each report but table 1, whose numbers figure 17 shows."""
    assert set(PICTURES) == set(REPORTS)


def flaws(figure):
    """Say what makes a picture hard to read."""
    found = []
    width, height = figure.get_size_inches()
    if width not in {style.ONE_COLUMN_IN, style.TWO_COLUMNS_IN}:
        found.append("width")
    drawn = figure.get_tightbbox()
    if min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) < -0.01:
        found.append("cut off")
    legend = figure.legends[0]
    for axes in figure.axes:
        if axes.bbox.y1 > legend.get_window_extent().y0:
            found.append("legend over data")
        labels = [axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts, *legend.get_texts()]
        for across, ticks in ((True, axes.get_xticklabels()), (False, axes.get_yticklabels())):
            extents = [tick.get_window_extent() for tick in ticks if tick.get_text()]
            spans = sorted((box.x0, box.x1) if across else (box.y0, box.y1) for box in extents)
            if any(one[1] >= other[0] for one, other in itertools.pairwise(spans)):
                found.append("ticks run together")
            labels += ticks
        if min(label.get_fontsize() for label in labels) < 7:
            found.append("small text")
        if not (axes.get_xlabel() or axes.get_xticklabels()[0].get_text()):
            found.append("no label across")
    if not (figure.axes[0].get_ylabel() or figure.axes[0].get_yticklabels()[0].get_text()):
        found.append("no label upward")
    return found


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("report", [*REPORTS.values(), *OTHERS.values()], ids=[*REPORTS, *OTHERS])
def test_pictures_can_be_read(report):
    """Axes have labels that do not run together, the legend is above the data, text has 7 points or more."""
    assert flaws(draw(report)) == []


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize(
    ("flaw", "spoil"),
    [
        ("width", lambda figure, _: figure.set_size_inches(5, 2.5)),
        ("cut off", lambda _, axes: axes.text(1.0, 1e-3, "far beyond the margin")),
        ("legend over data", lambda figure, _: figure.legends[0].set_loc("lower left")),
        ("ticks run together", lambda _, axes: axes.set_xticks([0.5, 0.51], ["left", "right"])),
        ("small text", lambda _, axes: axes.tick_params(labelsize=6)),
        (
            "no label across",
            lambda _, axes: (axes.set_xlabel(""), axes.set_xticks([]), axes.set_xticks([0], [""])),
        ),
        ("no label upward", lambda _, axes: (axes.set_ylabel(""), axes.set_yticks([1e-3], [""]))),
    ],
)
def test_planted_flaws_are_seen(flaw, spoil):
    """Each flaw that the test above looks for is found once it is planted."""
    figure = draw.__wrapped__(REPORTS["figure17"])
    figure.set_layout_engine("none")
    spoil(figure, figure.axes[0])
    FigureCanvasAgg(figure).draw()
    assert flaw in flaws(figure)


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_lines_differ_without_colour(report):
    """No two named lines of a picture share dashes and marker; no two bars share their hatch."""
    for axes in draw(report).axes:
        lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
        looks = [(str(line._unscaled_dash_pattern), line.get_marker()) for line in lines if line.get_label()]
        assert len(set(looks)) == len(looks)
        hatches = [bars.patches[0].get_hatch() for bars in axes.containers]
        assert len(set(hatches)) == len(hatches)


@pytest.mark.usefixtures("drawing")
def test_figure_17_has_a_log_axis_and_the_papers_markers():
    """Three curves on a logarithmic axis as in the paper, and table 1's nine numbers lie on them."""
    (axes,) = draw(REPORTS["figure17"]).axes
    assert axes.get_yscale() == "log"
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == [
        *("n = 4", "n = 16", "n = 64"),
        *("table 1, n = 4", "table 1, n = 16", "table 1, n = 64"),
    ]
    for nodes in (4, 16, 64):
        curve = dict(zip(*lines[f"n = {nodes}"].get_data(), strict=True))
        shares, gaps = lines[f"table 1, n = {nodes}"].get_data()
        printed = {x: y for x, y in zip(shares, gaps, strict=True) if not math.isnan(y)}
        assert sorted(printed) == [1 / 8, 1 / 4, 1 / 2]
        assert lines[f"table 1, n = {nodes}"].get_linestyle() == "None"
        for share, gap in printed.items():
            assert gap == pytest.approx(curve[share], rel=0.005)


@pytest.mark.usefixtures("drawing")
def test_figure_7_has_six_schemes_with_markers_at_whole_rails():
    """Six names; markers at X = 1/8 to 1/2, each on its curve."""
    figure = draw(REPORTS["figure7"])
    names = [
        *("HotRepair (best case)", "Balance", "R2CC-AllReduce, K = 4"),
        *("R2CC-AllReduce", "OptCC", "lower bound"),
    ]
    assert legend_of(figure) == names
    lines = figure.axes[0].get_lines()
    # behind HotRepair come, for each scheme, its curve, its markers and its entry in the legend
    for curve, markers in zip(lines[1::3], lines[2::3], strict=True):
        assert list(markers.get_xdata()) == [1 / 8, 1 / 4, 3 / 8, 1 / 2]
        on_curve = dict(zip(*curve.get_data(), strict=True))
        assert markers.get_ydata()[1] == pytest.approx(on_curve[1 / 4])


@pytest.mark.usefixtures("drawing")
def test_figure_7_leaves_out_what_does_not_exist():
    """Two nodes have no OptCC, so neither line nor name."""
    assert "OptCC" not in legend_of(draw(OTHERS["figure7 of two nodes"]))


@pytest.mark.usefixtures("drawing")
def test_k_sweep_shows_the_measurements():
    """The authors' five points are markers without a line, and only beside their own layout."""
    (axes,) = draw(REPORTS["k-sweep"]).axes
    (measured,) = [line for line in axes.get_lines() if line.get_label() == "measured by the authors"]
    assert list(measured.get_xdata()) == [1, 2, 4, 8, 16]
    assert list(measured.get_ydata()) == [1.599, 1.458, 1.376, 1.341, 1.329]
    assert measured.get_linestyle() == "None"
    assert axes.get_xscale() == "log"
    assert "measured by the authors" not in legend_of(draw(OTHERS["k-sweep elsewhere"]))


@pytest.mark.usefixtures("drawing")
def test_bars_are_the_reports_numbers():
    """Figure 6: 2 and 7/4, then 3/2, 11/8 and 1, then healthy nodes. Table 4: model, then measured."""
    (axes,) = draw(REPORTS["figure6"]).axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    assert heights == [[2, 1.75], [1.5, 1.375, 1], [1.5, pytest.approx(41 / 24), pytest.approx(5 / 3)]]
    (axes,) = draw(REPORTS["table4"]).axes
    model, measured = ([bar.get_width() for bar in bars] for bars in axes.containers)
    assert model == [1, 2, 1.5, 1.375]
    assert measured == pytest.approx([1, 4.07 / 2.03, 3.04 / 2.03, 2.79 / 2.03])


@pytest.mark.usefixtures("drawing")
def test_bound_has_a_panel_for_each_lost_share():
    """Three panels, p and overhead logarithmic, four schemes each."""
    figure = draw(REPORTS["bound"])
    assert [axes.get_title() for axes in figure.axes] == ["X = 1/8", "X = 1/4", "X = 1/2"]
    for axes in figure.axes:
        assert (axes.get_xscale(), axes.get_yscale(), len(axes.get_lines())) == ("log", "log", 4)
    balance = figure.axes[2].get_lines()[0]
    assert list(balance.get_ydata()) == [1, 1, 1, 1]


@pytest.mark.usefixtures("drawing")
def test_training_marks_where_schemes_reach_the_target():
    """Each marker lies on its line and on the line of the paper's 1.1 %."""
    (axes,) = draw(REPORTS["training"]).axes
    target, *lines = axes.get_lines()
    assert list(target.get_ydata()) == [0.011, 0.011]
    for line, marker in zip(lines[0::3], lines[1::3], strict=True):
        slope = line.get_ydata()[1] / line.get_xdata()[1]
        assert marker.get_ydata()[0] == pytest.approx(0.011)
        assert marker.get_xdata()[0] * slope == pytest.approx(0.011)


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("ending", style.FILE_TYPES)
def test_the_same_report_gives_the_same_file(tmp_path, ending):
    """Files hold no date, no version and no random names: drawn twice they are equal byte for byte."""
    contents = []
    for name in ("one", "two"):
        file = tmp_path / f"{name}{ending}"
        style.save(PICTURES["k-sweep"](REPORTS["k-sweep"]), file)
        contents.append(file.read_bytes())
    assert contents[0] == contents[1]
    assert b"<dc:date>" not in contents[0]
    assert b"Software" not in contents[0]


@pytest.mark.usefixtures("drawing")
def test_other_file_types_are_refused(tmp_path):
    """Pictures are png or svg."""
    with pytest.raises(ModelError, match=r"end the name with \.png or \.svg"):
        style.save(PICTURES["figure6"](REPORTS["figure6"]), tmp_path / "figure6.pdf")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    """Where matplotlib is missing, drawing fails with the command that brings it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModelError, match="pip install matplotlib"), style.settings():
        pass


def test_importing_pictures_imports_no_matplotlib():
    """`analysis`, all reports and all pictures import neither matplotlib nor scipy nor mpi4py."""
    code = (
        "import sys, analysis, analysis.plots\n"
        "from analysis.reports import bound_rails, bound_bandwidths, machine, text\n"
        "print([name for name in ('matplotlib', 'scipy', 'mpi4py') if name in sys.modules])"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    root = Path(__file__).resolve().parents[2]
    answer = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")
