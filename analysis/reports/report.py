"""What a report is: named columns, rows of exact numbers, facts that stand beside them, and honest notes.

A report is data. `text` writes it for people, `machine` as JSON and CSV, `analysis.plots` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

Cell = Fraction | Decimal | int | float | str | None
"""One value. A Decimal is a number as somebody printed it: its digits are kept. None: there is no such value.
Shares and overheads are plain fractions (1/8, not 12.5); only the text writes them in per cent."""

Row = tuple[Cell, ...]


class Form(Enum):
    """How people read a column."""

    TEXT = "text"
    WHOLE = "whole number"
    EXACT = "exact fraction, or a decimal if that is long"
    DECIMAL = "decimal"
    PERCENT = "per cent"


@dataclass(frozen=True)
class Column:
    """The meaning of the values in one column, or of one fact.

    Attributes:
        key: Name for programs, the same in JSON and CSV.
        title: Name for people.
        unit: Unit of the values; empty for pure numbers.
        form: How people read it.
        digits: Decimal places.
        signed: Whether a plus sign is written: for differences.
    """

    key: str
    title: str
    unit: str = ""
    form: Form = Form.DECIMAL
    digits: int = 3
    signed: bool = False


@dataclass(frozen=True)
class Fact:
    """One value that belongs to the report as a whole."""

    column: Column
    value: Cell


@dataclass(frozen=True)
class Report:
    """A table with its source.

    Attributes:
        name: What `r2cc analyze` calls it.
        title: What it shows, one line.
        source: Where the compared numbers and the formulas come from, one line.
        columns: The columns, keys all different.
        rows: The values; each row has one for each column.
        facts: Values beside the table, keys all different.
        notes: What a reader has to know to judge the numbers, one or more sentences each.
        ok: False if a number that must agree with its source does not.

    Raises:
        ValueError: A row has too few or too many values, or two keys are equal.
    """

    name: str
    title: str
    source: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    ok: bool = True

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.name}: a row of {len(row)} values for {len(self.columns)} columns")
        for keys in ([one.key for one in self.columns], [one.column.key for one in self.facts]):
            if len(set(keys)) < len(keys):
                raise ValueError(f"{self.name}: two of {', '.join(keys)} are equal")

    def values(self, key: str) -> list[Cell]:
        """List the values of one column, from the top.

        Args:
            key: The column's key.

        Raises:
            KeyError: There is no such column.
        """
        for index, column in enumerate(self.columns):
            if column.key == key:
                return [row[index] for row in self.rows]
        raise KeyError(key)

    def numbers(self, key: str) -> list[float]:
        """List the values of one column as floats, NaN where there is none: for drawing."""
        return [float("nan") if value is None else float(value) for value in self.values(key)]

    def fact(self, key: str) -> Cell:
        """Return the value of one fact.

        Args:
            key: The fact's key.

        Raises:
            KeyError: There is no such fact.
        """
        for one in self.facts:
            if one.column.key == key:
                return one.value
        raise KeyError(key)

    def fact_number(self, key: str) -> float:
        """Return the value of one fact as a float: for drawing.

        Args:
            key: The fact's key.

        Raises:
            KeyError: There is no such fact, or it has no value.
        """
        value = self.fact(key)
        if value is None:
            raise KeyError(key)
        return float(value)
