"""nccl-tests' table, to the character (but for blanks at the end of a line): a row for each size."""

from __future__ import annotations

import time
from collections.abc import Sequence

from r2cc_mpi.cli.report import (
    Measurement,
    SizeRecord,
    algorithm_bandwidth,
    average_bus_bandwidth,
    bus_bandwidth,
    wrong_elements,
)

NO_ROOT = -1
"""nccl-tests prints this as the root of a collective that has none."""
TIMESTAMP = "%Y-%m-%d %H:%M:%S"
"""How nccl-tests writes a time, which is local time."""

KEY = "{:>10}  {:>12}  {:>8}  {:>6}  {:>6}"
VALUE = "  {:>7}  {:>6}  {:>6}  {:>6}"
SPREAD = "  {:>7}  {:>7}  {:>7}  {:>7}"


def header(*, per_iteration: bool = False, timestamps: bool = False) -> list[str]:
    """Write the lines above the rows.

    Args:
        per_iteration: Whether rows have the columns about single iterations.
        timestamps: Whether rows end with a timestamp.
    """
    placing = "           out-of-place                       in-place"
    names, units = (
        VALUE.format("time", "algbw", "busbw", "#wrong"),
        VALUE.format("(us)", "(GB/s)", "(GB/s)", ""),
    )
    if per_iteration:
        placing = "              out-of-place (+ per-iteration)" + " " * 32 + "in-place (+ per-iteration)"
        names += SPREAD.format("i_min", "i_max", "i_p99", "i_cv%")
        units += SPREAD.format("(us)", "(us)", "(us)", "(%)")
    names, units = 2 * names, 2 * units
    if timestamps:
        names, units = f"{names} {'timestamp':>19}", f"{units} {TIMESTAMP:>19}"
    lines = [
        KEY.format(*[""] * 5) + placing,
        KEY.format("size", "count", "type", "redop", "root") + names,
        KEY.format("(B)", "(elements)", "", "", "") + units,
    ]
    return ["#", *(f"# {line}".rstrip() for line in lines)]


def row(record: SizeRecord, *, per_iteration: bool = False, timestamps: bool = False) -> str:
    """Write one size, in the columns of the header."""
    key = f"{record.size_bytes:12d}  {record.count:12d}  {record.datatype:>8}  {record.op:>6}  {NO_ROOT:6d}"
    values = "".join(
        _measurement(record, one) + (_spread(one) if per_iteration else "") for _, one in record.placings
    )
    stamp = f"{write_time(record.finished_at or 0):>21}" if timestamps else ""
    return key + values + stamp


def _measurement(record: SizeRecord, measured: Measurement | None) -> str:
    if measured is None:
        return VALUE.format(*["-"] * 4)
    time_us = fit(measured.time_s * 1e6, 7)
    algbw = fit(algorithm_bandwidth(record.size_bytes, measured.time_s) / 1e9, 6)
    busbw = fit(bus_bandwidth(record.size_bytes, measured.time_s, record.ranks) / 1e9, 6)
    return VALUE.format(time_us, algbw, busbw, "N/A" if measured.wrong is None else f"{measured.wrong:g}")


def _spread(measured: Measurement | None) -> str:
    if measured is None:
        return SPREAD.format(*["-"] * 4)
    found = measured.statistics
    times = [fit(time_s * 1e6, 7) for time_s in (found.min_s, found.max_s, found.p99_s)]
    return SPREAD.format(*times, fit(found.cv_percent, 7))


def footer(sizes: Sequence[SizeRecord], collective: str) -> list[str]:
    """Write nccl-tests' closing lines."""
    wrong = wrong_elements(sizes)
    return [
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}",
        f"# Avg bus bandwidth    : {average_bus_bandwidth(sizes) / 1e9:g}",
        "#",
        f"# Collective test concluded: {collective}",
        "#",
    ]


def write_time(at: float) -> str:
    """Write a time in seconds since the epoch as nccl-tests does."""
    return time.strftime(TIMESTAMP, time.localtime(at))


def fit(value: float, width: int) -> str:
    """Write a number with as many of two decimals as the width leaves room for, as nccl-tests does.

    A number that has no room even without decimals gets an exponent.

    Args:
        value: At least zero.
        width: Characters that there are.
    """
    for decimals in (2, 1, 0):
        text = f"{value:.{decimals}f}"
        if len(text) <= width:
            return text
    return f"{value:.{1 if width >= 7 else 0}e}"
