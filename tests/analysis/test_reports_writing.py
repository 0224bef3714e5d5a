from __future__ import annotations

import csv
import io
import json
import math
from decimal import Decimal
from fractions import Fraction

import pytest

from analysis.reports import machine, text
from analysis.reports.report import Column, Fact, Form, Report


def example():
    """Make a report with a value of every kind."""
    return Report(
        name="example",
        title="An example",
        source="made up",
        columns=(
            Column("scheme", "scheme", form=Form.TEXT),
            Column("nodes", "n", form=Form.WHOLE),
            Column("lost", "X", form=Form.EXACT),
            Column("time", "time", "D/B"),
            Column("off", "off", form=Form.PERCENT, digits=1, signed=True),
        ),
        rows=(
            ("ring", 4, Fraction(1, 8), Fraction(3, 2), Fraction(1, 80)),
            ("HotRepair", 64, Fraction(1, 2), math.inf, Decimal("-0.020")),
            ("none", None, None, 1.25, None),
        ),
        facts=(
            Fact(Column("best", "best", "D/B"), Fraction(8, 3)),
            Fact(Column("worst", "worst", "D/B"), math.inf),
        ),
        notes=("A note.", "word " * 40),
    )


def test_text_is_aligned():
    """Columns line up under heads and units; words go left, numbers right; what is no row begins with #."""
    lines = text.to_text(example())
    assert lines[:10] == [
        "# An example",
        "# source: made up",
        "#",
        "#  scheme      n    X      time   off",
        "#                         (D/B)   (%)",
        "   ring        4  1/8     1.500  +1.2",
        "   HotRepair  64  1/2  infinite  -2.0",
        "   none        -    -     1.250     -",
        "#",
        "# best: 2.667 D/B = 8/3",
    ]
    assert lines[10:12] == ["# worst: infinite", "# A note."]


def test_notes_are_wrapped():
    """No line is wider than a terminal's, and what goes on is indented."""
    lines = text.to_text(example())
    assert max(map(len, lines)) <= text.WIDTH
    assert lines[-1].startswith("#   word")


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (Fraction(1, 2), 0, "0"),
        (Fraction(3, 2), 0, "2"),
        (Fraction(-1, 1000), 2, "0.00"),
        (Fraction(-1, 8), 3, "-0.125"),
        (Fraction(10**30 + 1), 1, f"{10**30 + 1}.0"),
        (Fraction(2, 3), 5, "0.66667"),
    ],
)
def test_rounding_is_exact(value, digits, written):
    """Halves go to the even digit, zero has no sign, and large numbers keep all their digits."""
    assert text.rounded(value, digits) == written


@pytest.mark.parametrize(
    ("form", "cell", "written"),
    [
        (Form.PERCENT, Decimal("0.00470"), "0.470"),
        (Form.DECIMAL, Decimal("2.030"), "2.030"),
        (Form.PERCENT, Fraction(47, 10000), "0.470"),
        (Form.EXACT, Fraction(11, 8), "11/8"),
        (Form.EXACT, Fraction(12345, 67891), "0.182"),
        (Form.DECIMAL, 2, "2.000"),
        (Form.WHOLE, 7, "7"),
        (Form.TEXT, "fine", "fine"),
        (Form.DECIMAL, None, "-"),
    ],
)
def test_each_form_is_written(form, cell, written):
    """A printed number keeps its digits, also in per cent; long fractions become decimals."""
    assert text.write(Column("key", "title", form=form), cell) == written


def test_json_parses_back_to_the_same_numbers():
    """Numbers come back as floats, and exactly from the exact rows; nothing is null, infinity is text."""
    found = json.loads(machine.json_text(example()))["analyze"]
    assert found["what"] == "example"
    assert found["ok"] is True
    assert found["rows"][0] == {"scheme": "ring", "nodes": 4, "lost": 0.125, "time": 1.5, "off": 0.0125}
    assert found["rows"][1]["time"] == "inf"
    assert found["rows"][2] == {"scheme": "none", "nodes": None, "lost": None, "time": 1.25, "off": None}
    assert [Fraction(found["exact_rows"][0][key]) for key in ("lost", "time", "off")] == [
        Fraction(1, 8),
        Fraction(3, 2),
        Fraction(1, 80),
    ]
    assert found["exact_rows"][1] == {"lost": "1/2", "off": "-0.020"}
    assert found["facts"] == {"best": 8 / 3, "worst": "inf"}
    assert found["exact_facts"] == {"best": "8/3"}
    assert [one["unit"] for one in found["columns"]] == ["", "", "", "D/B", "fraction of 1"]


def test_csv_parses_back_to_the_same_numbers():
    """CSV has the keys of JSON and the same numbers; what does not exist is empty."""
    report = example()
    rows = list(csv.DictReader(io.StringIO(machine.csv_text(report))))
    assert rows[2]["nodes"] == rows[2]["off"] == ""
    for row, values in zip(rows, report.rows, strict=True):
        for column, value in zip(report.columns, values, strict=True):
            if value is not None and not isinstance(value, str):
                assert float(row[column.key]) == float(value)


def test_values_are_found_by_key():
    """Columns and facts are looked up by key, and a missing one is an error, not an empty list."""
    report = example()
    assert report.values("nodes") == [4, 64, None]
    assert report.numbers("lost")[:2] == [0.125, 0.5]
    assert math.isnan(report.numbers("lost")[2])
    assert report.fact("best") == Fraction(8, 3)
    with pytest.raises(KeyError):
        report.values("best")
    with pytest.raises(KeyError):
        report.fact("nodes")
    assert report.fact_number("best") == 8 / 3
    assert math.isinf(report.fact_number("worst"))
    with pytest.raises(KeyError):
        Report("a", "b", "c", (), (), (Fact(Column("none", "none"), None),)).fact_number("none")


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ((Column("a", "a"),), (1, 2), "row of 2 values for 1 columns"),
        ((Column("a", "a"), Column("a", "b")), (1, 2), "two of a, a are equal"),
    ],
)
def test_malformed_reports_are_refused(columns, row, message):
    """A row that does not fit its columns, or two columns of one key, cannot become a report."""
    with pytest.raises(ValueError, match=message):
        Report("name", "title", "source", columns, (row,))
