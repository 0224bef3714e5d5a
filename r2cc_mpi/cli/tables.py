"""The report as text: nccl-tests' table, iterations, failovers, verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from algorithms.nic import Nic
from r2cc_mpi.cli.report import (
    FailoverRecord,
    IterationRecord,
    Measurement,
    SizeRecord,
    Verdict,
    algorithm_bandwidth,
    average_bus_bandwidth,
    bus_bandwidth,
    wrong_elements,
)

NO_ROOT = "-1"
"""nccl-tests prints this as the root of a collective that has none."""


def header() -> list[str]:
    """Write the three lines above the rows."""
    key, value = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "  {:>7}  {:>6}  {:>6}  {:>6}"
    placing = " " * len(key.format(*[""] * 5)) + "{:>21}{:>31}".format("out-of-place", "in-place")
    names = key.format("size", "count", "type", "redop", "root")
    names += value.format("time", "algbw", "busbw", "#wrong") * 2
    units = key.format("(B)", "(elements)", "", "", "") + value.format("(us)", "(GB/s)", "(GB/s)", "") * 2
    return ["#" + placing[1:], names, units.rstrip()]


def row(record: SizeRecord) -> str:
    """Write one size, in the columns of the header."""
    key = f"{record.size_bytes:12d}  {record.count:12d}  {record.datatype:>8}  {record.op:>6}  {NO_ROOT:>6}"
    return key + "".join(_measurement(record, one) for one in (record.out_of_place, record.in_place)).rstrip()


def _measurement(record: SizeRecord, measured: Measurement | None) -> str:
    if measured is None:
        return "  {:>7}  {:>6}  {:>6}  {:>6}".format(*["-"] * 4)
    time = fit(measured.time_s * 1e6, 7)
    algbw = fit(algorithm_bandwidth(record.size_bytes, measured.time_s) / 1e9, 6)
    busbw = fit(bus_bandwidth(record.size_bytes, measured.time_s, record.ranks) / 1e9, 6)
    wrong = "N/A" if measured.wrong is None else f"{measured.wrong:g}"
    return f"  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}"


def footer(sizes: Sequence[SizeRecord]) -> list[str]:
    """Write nccl-tests' closing lines."""
    wrong = wrong_elements(sizes)
    return [
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}",
        f"# Avg bus bandwidth    : {average_bus_bandwidth(sizes) / 1e9:g}",
        "#",
    ]


def iteration_table(iterations: Sequence[IterationRecord], nics: Collection[Nic]) -> list[str]:
    """Write a line for each iteration: times, strategy, and what some NICs carried.

    The ratio is the time on the network over the predicted time.

    Args:
        iterations: The iterations, in order; they count from 1.
        nics: The NICs to show, usually all of the nodes that lost one.
    """
    names = [f"{nic.node}:{nic.rail} tx/rx (MB)" for nic in sorted(nics)]
    columns = "# {:>4}  {:>10}  {:>12}  {:>14}  {:>14}  {:>6}"
    columns += "".join(f"  {{:>{len(name)}}}" for name in names) + "  {:>9}"
    titles = ("iter", "time (ms)", "network (ms)", "predicted (ms)", "strategy", "ratio")
    lines = [columns.format(*titles, *names, "failovers")]
    for number, one in enumerate(iterations, start=1):
        predicted = "-" if one.predicted_s is None else f"{one.predicted_s * 1e3:.2f}"
        ratio = f"{one.network_s / one.predicted_s:.3f}" if one.predicted_s else "-"
        times = (f"{one.time_s * 1e3:.2f}", f"{one.network_s * 1e3:.2f}", predicted)
        carried = [_carried(one, nic) for nic in sorted(nics)]
        lines.append(columns.format(number, *times, one.strategy, ratio, *carried, len(one.failovers)))
    return lines


def _carried(iteration: IterationRecord, nic: Nic) -> str:
    if nic not in iteration.rail_bytes:
        return "-"
    carried = iteration.rail_bytes[nic]
    return f"{carried.tx / 1e6:.2f}/{carried.rx / 1e6:.2f}"


def failover_line(iteration: int, record: FailoverRecord) -> str:
    """Write what was lost in an iteration (from 1), and how it went on."""
    known = "" if record.detected_s is None else f" detected after {record.detected_s * 1e3:.1f} ms,"
    return (
        f"# failover in iteration {iteration}: rail {record.rail} of node {record.node} failed "
        f"({record.cause}),{known} {record.resent_bytes} bytes resent, route {record.path}"
    )


def failover_lines(iterations: Iterable[IterationRecord]) -> list[str]:
    """Write the failover lines of all iterations, which count from 1."""
    return [
        failover_line(number, record)
        for number, one in enumerate(iterations, start=1)
        for record in one.failovers
    ]


def verdict_line(verdict: Verdict) -> str:
    """Write how the run ended, in one line."""
    status = f" (exit {verdict.exit_code})" if verdict.exit_code else ""
    return f"# verdict: {verdict.word}{status} {' '.join(verdict.reason.split())}".rstrip()


def fit(value: float, width: int) -> str:
    """Write a number with as many of two decimals as the width leaves room for, as nccl-tests does.

    Two decimals, then one, then none as the number grows; a number that has no room at all as an exponent.

    Args:
        value: At least zero.
        width: Characters that there are.
    """
    digits = len(str(int(value))) if value >= 1 else 0
    if digits > width:
        return f"{value:.{1 if width >= 7 else 0}e}"
    return f"{value:.{2 if digits < width - 2 else 1 if digits < width - 1 else 0}f}"
