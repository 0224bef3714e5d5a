"""A report for programs: JSON and CSV with the same keys and the same numbers."""

from __future__ import annotations

import csv
import io
import json
import math
from decimal import Decimal
from fractions import Fraction

from analysis.reports.report import Cell, Column, Form, Report

JsonObject = dict[str, object]


def to_json(report: Report) -> JsonObject:
    """Turn a report into what `json.dump` takes.

    Args:
        report: The report.

    Returns:
        One key, `analyze`. In it `rows` are objects by column key and `facts` one object. Numbers are floats,
        whole ones integers; shares and overheads are fractions of 1; what does not exist is null, and an
        infinite time is the text "inf". `exact_rows` and `exact_facts` hold the same values as text without
        rounding, `"11/8"`, for all that are exact fractions or decimals.
    """
    return {
        "analyze": {
            "what": report.name,
            "title": report.title,
            "source": report.source,
            "ok": report.ok,
            "columns": [_describe(column) for column in report.columns],
            "rows": [_object(report.columns, row) for row in report.rows],
            "exact_rows": [_exact(report.columns, row) for row in report.rows],
            "facts": {fact.column.key: _number(fact.value) for fact in report.facts},
            "exact_facts": _exact(
                tuple(fact.column for fact in report.facts), tuple(fact.value for fact in report.facts)
            ),
            "notes": list(report.notes),
        }
    }


def json_text(report: Report) -> str:
    """Write a report as JSON, with a newline at the end."""
    return json.dumps(to_json(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(report: Report) -> str:
    """Write the rows as CSV: a line of column keys, then a line for each row.

    Numbers have all digits a float has; what does not exist is empty. Facts and notes are left out.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.key for column in report.columns)
    writer.writerows([_number(cell) for cell in row] for row in report.rows)
    return text.getvalue()


def _describe(column: Column) -> JsonObject:
    unit = "fraction of 1" if column.form is Form.PERCENT else column.unit
    return {"key": column.key, "title": column.title, "unit": unit}


def _object(columns: tuple[Column, ...], row: tuple[Cell, ...]) -> JsonObject:
    return {column.key: _number(cell) for column, cell in zip(columns, row, strict=True)}


def _exact(columns: tuple[Column, ...], row: tuple[Cell, ...]) -> JsonObject:
    return {
        column.key: str(cell)
        for column, cell in zip(columns, row, strict=True)
        if isinstance(cell, Fraction | Decimal)
    }


def _number(cell: Cell) -> float | int | str | None:
    if isinstance(cell, Fraction | Decimal):
        cell = float(cell)
    if isinstance(cell, float) and math.isinf(cell):
        return "inf"
    return cell
