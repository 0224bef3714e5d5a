from __future__ import annotations

import json
import re

import pytest

from algorithms.nic import Nic
from r2cc_mpi.cli.report import (
    FailoverRecord,
    IterationRecord,
    Measurement,
    RailBytes,
    Report,
    SizeRecord,
    Verdict,
    average_bus_bandwidth,
    bus_bandwidth,
)
from r2cc_mpi.cli.report_json import to_json, write_json
from r2cc_mpi.cli.tables import failover_lines, fit, footer, header, iteration_table, row, verdict_line
from r2cc_mpi.errors import MachineError

FAILOVER = FailoverRecord(1, 1, "announced", 0.0125, 4096, "node 1 -(rail 2)-> node 2")
HEALTHY = IterationRecord(0.25, 0.24, "hot-repair", 0.24, 0, {Nic(1, 0): RailBytes(2_000_000, 1_500_000)})
HIT = IterationRecord(0.5, 0.45, "hot-repair", 0.36, 0, {Nic(1, 1): RailBytes(0, 7)}, (FAILOVER,))
ROW = SizeRecord(16777216, 4194304, "float", 9, Measurement(0.5, 0), Measurement(0.012345, 3))


def test_header_is_that_of_nccl_tests():
    """The header has the columns of nccl-tests, to the character."""
    placing, names, units = header()
    assert placing.split() == ["#", "out-of-place", "in-place"]
    columns = "     time   algbw   busbw  #wrong"
    assert names == f"#       size         count      type   redop    root{columns}{columns}"
    columns = "     (us)  (GB/s)  (GB/s)        "
    assert units == f"#        (B)    (elements)                          {columns}{columns}".rstrip()


def test_row_is_that_of_nccl_tests():
    """A row's columns end where the header's end, and its numbers are those of nccl-tests' definitions."""
    assert row(ROW) == (
        "    16777216       4194304     float     sum      -1   500000    0.03    0.06       0"
        "  12345.0    1.36    2.42       3"
    )
    ends = [match.end() for match in re.finditer(r"\S+", header()[1])][1:]
    assert [match.end() for match in re.finditer(r"\S+", row(ROW))] == ends


def test_row_without_check_and_without_measurement():
    """What was not checked is N/A as in nccl-tests, what was not measured a dash."""
    text = row(SizeRecord(1024, 256, "int32", 4, Measurement(1e-4, None), None))
    assert text.split()[5:] == ["100.00", "0.01", "0.02", "N/A", "-", "-", "-", "-"]


def test_bus_bandwidth():
    """Nine ranks that reduce 9 bytes in a second load each link with 16 bytes: 2 (n - 1) / n."""
    assert bus_bandwidth(9, 1, 9) == 16
    assert average_bus_bandwidth([]) == 0
    assert average_bus_bandwidth([SizeRecord(9, 9, "int8", 9, Measurement(1, 0), Measurement(2, 0))]) == 12


@pytest.mark.parametrize(
    ("value", "seven", "six"),
    [
        (0, "0.00", "0.00"),
        (0.123, "0.12", "0.12"),
        (999.123, "999.12", "999.12"),
        (1234.56, "1234.56", "1234.6"),
        (12345.6, "12345.6", "12346"),
        (123456.7, "123457", "123457"),
        (1234567.8, "1234568", "1e+06"),
        (123456789.0, "1.2e+08", "1e+08"),
    ],
)
def test_numbers_fit_their_column(value, seven, six):
    """Numbers lose decimals as they grow, and never leave their column."""
    assert (fit(value, 7), fit(value, 6)) == (seven, six)


def test_footer_sums_up():
    """Wrong elements of both measurements are added up, and any of them is a failure."""
    assert footer([ROW])[0] == "# Out of bounds values : 3 FAILED"
    fine = SizeRecord(9, 9, "float", 9, Measurement(1e-9, 0), None)
    assert footer([fine]) == ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 16", "#"]


def test_iteration_table_shows_what_happened():
    """Each iteration has its times, the ratio to the prediction, and what each NIC carried."""
    rest = [["1.000", "2.00/1.50", "-", "0"], ["1.250", "-", "0.00/0.00", "1"]]
    title, first, second = iteration_table([HEALTHY, HIT], {Nic(1, 1), Nic(1, 0)})
    columns = ["iter", "time (ms)", "network (ms)", "predicted (ms)", "strategy", "ratio"]
    assert re.split(r"\s{2,}", title.lstrip("# ")) == [
        *columns,
        "1:0 tx/rx (MB)",
        "1:1 tx/rx (MB)",
        "failovers",
    ]
    assert re.split(r" +", first) == ["#", "1", *["250.00", "240.00", "240.00"], "hot-repair", *rest[0]]
    assert re.split(r" +", second) == ["#", "2", *["500.00", "450.00", "360.00"], "hot-repair", *rest[1]]
    assert len({len(title), len(first), len(second)}) == 1


def test_iteration_table_without_prediction():
    """Where nothing is predicted there is no ratio."""
    line = iteration_table([IterationRecord(1, 1, "ring", None, None, {})], [])[1]
    assert line.split() == ["#", "1", "1000.00", "1000.00", "-", "ring", "-", "0"]


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


def test_json_has_the_promised_keys():
    """The document survives JSON and holds layout, verdict and iterations."""
    report = Report(3, 3, (ROW,), (HEALTHY, HIT), Verdict(0, "fine"))
    document = json.loads(json.dumps(to_json(report)))["r2cc"]
    assert document["layout"] == {"nodes": 3, "rails": 3}
    assert (document["verdict"], document["exit_code"]) == ("PASS", 0)
    assert document["iterations"][0]["rail_bytes"] == {"1:0": {"tx": 2_000_000, "rx": 1_500_000}}
    assert document["iterations"][1] == {
        "time_s": 0.5,
        "network_s": 0.45,
        "strategy": "hot-repair",
        "predicted_s": 0.36,
        "bound_s": None,
        "wrong": 0,
        "rail_bytes": {"1:1": {"tx": 0, "rx": 7}},
        "failovers": [
            {
                "node": 1,
                "rail": 1,
                "cause": "announced",
                "detected_s": 0.0125,
                "resent_bytes": 4096,
                "path": "node 1 -(rail 2)-> node 2",
            }
        ],
    }


def test_json_goes_to_a_file_or_standard_output(tmp_path, capsys):
    """A dash is standard output, anything else a file."""
    write_json({"a": 1}, str(tmp_path / "x.json"))
    write_json({"a": 2}, "-")
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
    assert json.loads(capsys.readouterr().out) == {"a": 2}


def test_json_that_cannot_be_written_is_reported(tmp_path):
    """A file that cannot be written is an error that names it."""
    with pytest.raises(MachineError, match=f"--json {tmp_path}: cannot write"):
        write_json({}, str(tmp_path))
