from __future__ import annotations

import csv

from r2cc_mpi.cli.report_csv import COLUMNS, to_csv
from r2cc_mpi.cli.size_table import write_time
from tests.r2cc_mpi.reports import NOON, REPORT


def test_rows_by_hand():
    """Every size and placing that was measured has a row, with all its columns."""
    first, second, third = csv.DictReader(to_csv(REPORT).splitlines())
    assert tuple(first) == COLUMNS
    assert first == {
        "cycle": "1",
        "size_bytes": "1024",
        "count": "256",
        "type": "float",
        "redop": "sum",
        "placing": "out_of_place",
        "nodes": "2",
        "rails": "1",
        "iterations": "3",
        "time_us": "2000.0",
        "algbw_gbps": "0.000512",
        "busbw_gbps": "0.000512",
        "wrong": "0",
        "finished_at": write_time(NOON),
        "min_us": "2000.0",
        "max_us": "4000.0",
        "avg_us": "3000.0",
        "p50_us": "4000.0",
        "p95_us": "4000.0",
        "p99_us": "4000.0",
        "stdev_us": "1000.0",
        "cv_pct": first["cv_pct"],
    }
    assert abs(float(first["cv_pct"]) - 100 / 3) < 1e-9
    assert [(one["cycle"], one["placing"]) for one in (second, third)] == [
        ("2", "out_of_place"),
        ("2", "in_place"),
    ]
    assert third["wrong"] == ""
