"""The report for spreadsheets: one row for each cycle, size and placing that was measured.

Columns: `cycle` (from 1), `size_bytes`, `count` (elements), `type`, `redop`, `placing` (out_of_place or
in_place), `nodes`, `rails`, `iterations`, `time_us` (of the ranks that `-a` says), `algbw_gbps` and
`busbw_gbps` (10**9 bytes per second), `wrong` (elements; empty if not checked), `finished_at` (local time),
and the statistics of iterations on the slowest rank, without the skipped ones: `min_us`, `max_us`, `avg_us`,
`p50_us`, `p95_us`, `p99_us`, `stdev_us`, `cv_pct`.
"""

from __future__ import annotations

import csv
import io

from r2cc_mpi.cli.report import Measurement, Report, SizeRecord, algorithm_bandwidth, bus_bandwidth
from r2cc_mpi.cli.report_json import statistics_us
from r2cc_mpi.cli.size_table import write_time

COLUMNS = (
    *("cycle", "size_bytes", "count", "type", "redop", "placing", "nodes", "rails", "iterations"),
    *("time_us", "algbw_gbps", "busbw_gbps", "wrong", "finished_at"),
    *("min_us", "max_us", "avg_us", "p50_us", "p95_us", "p99_us", "stdev_us", "cv_pct"),
)


def to_csv(report: Report) -> str:
    """Write a report: a line with the names of the columns, then the rows."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    for row in report.sizes:
        for placing, measured in row.placings:
            if measured is not None:
                table.writerow(_row(report, row, placing, measured))
    return text.getvalue()


def _row(report: Report, row: SizeRecord, placing: str, measured: Measurement) -> dict[str, object]:
    return {
        "cycle": row.cycle,
        "size_bytes": row.size_bytes,
        "count": row.count,
        "type": row.datatype,
        "redop": row.op,
        "placing": placing,
        "nodes": report.nodes,
        "rails": report.rails,
        "iterations": report.description.method.iterations,
        "time_us": measured.time_s * 1e6,
        "algbw_gbps": algorithm_bandwidth(row.size_bytes, measured.time_s) / 1e9,
        "busbw_gbps": bus_bandwidth(row.size_bytes, measured.time_s, row.ranks) / 1e9,
        "wrong": "" if measured.wrong is None else measured.wrong,
        "finished_at": "" if row.finished_at is None else write_time(row.finished_at),
        **statistics_us(measured.statistics),
    }
