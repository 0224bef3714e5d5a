from __future__ import annotations

import re
from dataclasses import replace

import pytest

from algorithms.nic import Nic
from r2cc_mpi.cli.report import (
    FailoverRecord,
    IterationRecord,
    Measurement,
    RailBytes,
    SizeRecord,
    Verdict,
    average_bus_bandwidth,
    bus_bandwidth,
    wrong_elements,
)
from r2cc_mpi.cli.tables import failover_lines, iteration_table, verdict_line

FAILOVER = FailoverRecord(1, 1, "announced", 0.0125, 4096, "node 1 -(rail 2)-> node 2")
HEALTHY = IterationRecord(0.25, 0.24, "hot-repair", 0.24, 0, {Nic(1, 0): RailBytes(2_000_000, 1_500_000)})
HIT = IterationRecord(0.5, 0.45, "hot-repair", 0.36, 0, {Nic(1, 1): RailBytes(0, 7)}, (FAILOVER,), 0.18)


def test_wrong_elements_are_added_up():
    """Wrong elements of both measurements count; what was not checked or measured does not."""
    rows = [
        SizeRecord(9, 9, "float", 9, Measurement(1, 2), Measurement(1, 3)),
        SizeRecord(9, 9, "float", 9, Measurement(1, None), None),
    ]
    assert wrong_elements(rows) == 5


def test_bus_bandwidth():
    """Nine ranks that reduce 9 bytes in a second load each link with 16 bytes: 2 (n - 1) / n."""
    assert bus_bandwidth(9, 1, 9) == 16
    assert average_bus_bandwidth([]) == 0
    assert average_bus_bandwidth([SizeRecord(9, 9, "int8", 9, Measurement(1, 0), Measurement(2, 0))]) == 12


def test_iteration_table_shows_what_happened():
    """Each iteration has its times, the ratio to the prediction, and what each NIC carried."""
    rest = [["1.000", "2.00/1.50", "-", "0"], ["1.250", "-", "0.00/0.00", "1"]]
    title, first, second = iteration_table([HEALTHY, HIT], {Nic(1, 1), Nic(1, 0)})
    columns = ["iter", "time (ms)", "network (ms)", "predicted (ms)", "bound (ms)", "strategy", "ratio"]
    assert re.split(r"\s{2,}", title.lstrip("# ")) == [
        *columns,
        "1:0 tx/rx (MB)",
        "1:1 tx/rx (MB)",
        "failovers",
    ]
    times = [["250.00", "240.00", "240.00", "-"], ["500.00", "450.00", "360.00", "180.00"]]
    assert re.split(r" +", first) == ["#", "1", *times[0], "hot-repair", *rest[0]]
    assert re.split(r" +", second) == ["#", "2", *times[1], "hot-repair", *rest[1]]
    assert len({len(title), len(first), len(second)}) == 1


def test_iteration_table_with_the_kernels_counts():
    """Where rails are interfaces, what the kernel counted stands beside our own count of each NIC."""
    counted = replace(HEALTHY, kernel_bytes={Nic(1, 0): RailBytes(2_090_000, 1_570_000)})
    title, line = iteration_table([counted], [Nic(1, 0), Nic(1, 1)])
    names = ["1:0 tx/rx (MB)", "1:0 kernel (MB)", "1:1 tx/rx (MB)", "1:1 kernel (MB)", "failovers"]
    assert re.split(r"\s{2,}", title)[-5:] == names
    assert line.split()[-5:] == ["2.00/1.50", "2.09/1.57", "-", "-", "0"]


def test_iteration_table_without_prediction():
    """Where nothing is predicted there is no ratio."""
    line = iteration_table([IterationRecord(1, 1, "ring", None, None, {})], [])[1]
    assert line.split() == ["#", "1", "1000.00", "1000.00", "-", "-", "ring", "-", "0"]


def test_failover_line_tells_all():
    """A failover names rail, node, cause, detection time, resent bytes and route."""
    (line,) = failover_lines([HEALTHY, HIT])
    assert line == (
        "# failover in iteration 2: rail 1 of node 1 failed (announced), detected after 12.5 ms, "
        "4096 bytes resent, route node 1 -(rail 2)-> node 2"
    )


def test_failover_at_an_unknown_moment():
    """Where nobody knows when the rail failed, no detection time is claimed."""
    record = FailoverRecord(1, 1, "probe", None, 0, "none")
    iteration = IterationRecord(1, 1, "ring", None, 0, {}, (record,))
    assert failover_lines([iteration]) == [
        "# failover in iteration 1: rail 1 of node 1 failed (probe), 0 bytes resent, route none"
    ]


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (Verdict(0, "all right"), "# verdict: PASS all right"),
        (Verdict(4, "nodes\n0 and 1"), "# verdict: FAIL (exit 4) nodes 0 and 1"),
        (Verdict(0, ""), "# verdict: PASS"),
    ],
)
def test_verdict_is_one_line(verdict, line):
    """The verdict is one line with PASS or FAIL, the exit status, and the reason."""
    assert verdict_line(verdict) == line
