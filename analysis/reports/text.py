"""A report for people: aligned columns under two lines of heads, and `#` before everything that is no row."""

from __future__ import annotations

import math
import textwrap
from decimal import Decimal
from fractions import Fraction

from analysis.reports.report import Cell, Column, Form, Report

WIDTH = 110

LONGEST = 9
"""An exact fraction with more characters is written as a decimal."""


def to_text(report: Report) -> list[str]:
    """Write a report.

    Args:
        report: The report.

    Returns:
        The lines. Those of the table's body start with a blank, all others with `#`.
    """
    lines = [f"# {report.title}", *_wrapped(f"source: {report.source}"), "#"]
    lines += _table(report)
    if report.facts or report.notes:
        lines.append("#")
    lines += [f"# {fact.column.title}: {_with_unit(fact.column, fact.value)}" for fact in report.facts]
    for note in report.notes:
        lines += _wrapped(note)
    return lines


def write(column: Column, cell: Cell) -> str:
    """Write one value the way its column wants it, without its unit.

    >>> write(Column("x", "X", form=Form.PERCENT, digits=1), Fraction(1, 8))
    '12.5'
    """
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float) and math.isinf(cell):
        return "infinite"
    sign = "+" if column.signed and cell > 0 else ""
    if isinstance(cell, Decimal):
        return sign + f"{cell.scaleb(2) if column.form is Form.PERCENT else cell:f}"
    if column.form in {Form.TEXT, Form.WHOLE} or (column.form is Form.EXACT and len(str(cell)) <= LONGEST):
        return sign + str(cell)
    value = Fraction(cell) * (100 if column.form is Form.PERCENT else 1)
    return sign + rounded(value, column.digits)


def rounded(value: Fraction, digits: int) -> str:
    """Write a fraction as a decimal, rounded exactly; halves go to the even digit.

    >>> rounded(Fraction(-2, 3), 3), rounded(Fraction(1, 8), 2), rounded(Fraction(7), 0)
    ('-0.667', '0.12', '7')
    """
    scaled = round(value * 10**digits)
    whole, part = divmod(abs(scaled), 10**digits)
    return ("-" if scaled < 0 else "") + str(whole) + (f".{part:0{digits}d}" if digits else "")


def unit_for_people(column: Column) -> str:
    """Name the unit of what `write` writes."""
    return "%" if column.form is Form.PERCENT else column.unit


def _table(report: Report) -> list[str]:
    units = [unit_for_people(column) for column in report.columns]
    heads = [
        [column.title for column in report.columns],
        [f"({unit})" if unit else "" for unit in units],
    ]
    body = [[write(*pair) for pair in zip(report.columns, row, strict=True)] for row in report.rows]
    widths = [max(map(len, column)) for column in zip(*heads, *body, strict=True)]
    if not any(units):
        heads.pop()
    return [
        "  ".join(
            [margin, *(_align(*one) for one in zip(report.columns, cells, widths, strict=True))]
        ).rstrip()
        for margin, lines in (("#", heads), (" ", body))
        for cells in lines
    ]


def _align(column: Column, text: str, width: int) -> str:
    return text.ljust(width) if column.form is Form.TEXT else text.rjust(width)


def _with_unit(column: Column, cell: Cell) -> str:
    unit = unit_for_people(column)
    exact = f" = {cell}" if isinstance(cell, Fraction) and _is_short(column, cell) else ""
    written = write(column, cell)
    return written + (f" {unit}" if unit and any(map(str.isdigit, written)) else "") + exact


def _is_short(column: Column, value: Fraction) -> bool:
    """Whether a reader gains from seeing the exact fraction behind a rounded number."""
    return column.form is Form.DECIMAL and 1 < value.denominator < 1000


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
