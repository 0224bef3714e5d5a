# ruff: noqa: E501  (lines of tables are compared as they are)

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from r2cc_mpi.cli.report import Measurement, SizeRecord
from r2cc_mpi.cli.size_table import fit, footer, header, row, write_time
from tests.r2cc_mpi.reports import HALF_ROW, NOON, ROW

BIG = SizeRecord(16777216, 4194304, "float", 9, Measurement(0.5, 0), Measurement(0.012345, 3))


def test_header_is_that_of_nccl_tests():
    """The lines above the rows are nccl-tests', to the character."""
    assert header() == [
        "#",
        "#                                                              out-of-place                       in-place",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)",
    ]


def test_header_about_single_iterations_is_that_of_nccl_tests():
    """With `-I 1` and `-S 1` there are four columns more for each placing, and a timestamp."""
    assert header(per_iteration=True, timestamps=True) == [
        "#",
        "#                                                                 out-of-place (+ per-iteration)                                in-place (+ per-iteration)",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%           timestamp",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)     (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)   %Y-%m-%d %H:%M:%S",
    ]


def test_row_is_that_of_nccl_tests():
    """A row's columns end where the header's end, and its numbers are those of nccl-tests' definitions."""
    assert row(BIG) == (
        "    16777216       4194304     float     sum      -1   500000    0.03    0.06       0  12345.0    1.36    2.42       3"
    )
    ends = [match.end() for match in re.finditer(r"\S+", header()[2])][1:]
    assert [match.end() for match in re.finditer(r"\S+", row(BIG))] == ends


def test_row_about_single_iterations():
    """Of slowest times 3, 2 and 4 ms, the first is skipped: 2 to 4 ms, mean 3, deviation 1, so 33 %."""
    assert row(ROW, per_iteration=True, timestamps=True) == (
        "        1024           256     float     sum      -1  2000.00    0.00    0.00       0  2000.00  4000.00  4000.00    33.33  1000.00    0.00    0.00     N/A  1000.00  1000.00  1000.00     0.00"
        f"  {write_time(NOON)}"
    )


def test_row_of_half_a_measurement():
    """What was not checked is N/A as in nccl-tests, what was not measured a dash, in its columns."""
    text = row(SizeRecord(1024, 256, "int32", 4, Measurement(1e-4, None), None))
    assert text.split()[5:] == ["100.00", "0.01", "0.02", "N/A", "-", "-", "-", "-"]
    wide = row(HALF_ROW, per_iteration=True)
    assert wide.split()[-8:] == ["-"] * 8
    assert len(wide) == len(row(ROW, per_iteration=True))


def test_row_names_its_operation():
    """Type and operation have nccl-tests' names, right-aligned in eight and six characters."""
    text = row(replace(ROW, datatype="uint64", op="prod"))
    assert text.startswith("        1024           256    uint64    prod      -1  ")


@pytest.mark.parametrize(
    ("value", "seven", "six"),
    [
        (0, "0.00", "0.00"),
        (0.123, "0.12", "0.12"),
        (999.123, "999.12", "999.12"),
        (1234.56, "1234.56", "1234.6"),
        (12345.6, "12345.6", "12346"),
        (123456.7, "123457", "123457"),
        (9999.996, "10000.0", "10000"),
        (99999.96, "100000", "100000"),
        (1234567.8, "1234568", "1e+06"),
        (123456789.0, "1.2e+08", "1e+08"),
    ],
)
def test_numbers_fit_their_column(value, seven, six):
    """Numbers lose decimals as they grow, and never leave their column."""
    assert (fit(value, 7), fit(value, 6)) == (seven, six)


def test_footer_is_that_of_nccl_tests():
    """Wrong elements are a failure; the mean is over all measurements: 16 GB/s of 9 bytes in a nanosecond."""
    assert footer([BIG], "allreduce")[0] == "# Out of bounds values : 3 FAILED"
    fine = SizeRecord(9, 9, "float", 9, Measurement(1e-9, 0), None)
    assert footer([fine], "allreduce") == [
        "# Out of bounds values : 0 OK",
        "# Avg bus bandwidth    : 16",
        "#",
        "# Collective test concluded: allreduce",
        "#",
    ]
