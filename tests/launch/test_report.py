"""The report of real runs: nccl-tests' options, its table, its JSON keys."""

from __future__ import annotations

import csv
import json
import sys
from statistics import fmean

import pytest

from tests.launch.launcher import launch
from tests.launch.reference_run import check_passed, run
from tests.r2cc_mpi.nccl_tests_json import check_consistent, check_document

TWO_BY_TWO = ["--nodes", "2", "--rails", "2"]


def report_of(folder, *words):
    """Run an allreduce on 2 x 2 ranks; give what it printed, its JSON document, and its CSV rows."""
    files = {"--json": folder / "report.json", "--csv": folder / "rows.csv"}
    options = [str(word) for pair in files.items() for word in pair]
    command = [sys.executable, "-m", "r2cc_mpi", "run", "allreduce", *TWO_BY_TWO, *words, *options]
    answer = launch(command)
    assert answer.status == 0, str(answer)
    document = json.loads(files["--json"].read_text(encoding="utf-8"))
    with files["--csv"].open(encoding="utf-8", newline="") as rows:
        return answer.stdout, document, list(csv.DictReader(rows))


def numbers_of(text):
    """Give the rows of the table, split into words."""
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


def test_sweep_with_every_column(tmp_path):
    """A sweep with `-I 1 -S 1` has all rows, columns and keys, and all three reports tell the same."""
    text, document, rows = report_of(
        tmp_path, *["-b", "8", "-e", "64K", "-f", "4", "-n", "3", "-K", "1", "-I", "1", "-S", "1"]
    )
    sizes = [8 * 4**power for power in range(7)]
    check_document(document)
    assert check_consistent(document) == 2 * len(sizes)
    table = numbers_of(text)
    assert [int(row[0]) for row in table] == [one["size"] for one in document["results"]] == sizes
    assert {len(row) for row in table} == {5 + 2 * 8 + 2}
    assert [(int(row["size_bytes"]), row["placing"]) for row in rows] == [
        (size, placing) for size in sizes for placing in ("out_of_place", "in_place")
    ]
    for one, row in zip(document["results"], rows[::2], strict=True):
        found = one["out_of_place_per_iter"]
        assert (len(found["times_us"]), len(found["per_process_max_times_us"])) == (3, 4)
        assert found["max_us"] == pytest.approx(max(found["times_us"][1:]))
        assert float(row["time_us"]) == pytest.approx(one["out_of_place"]["time"])
        means = [fmean(times) for times in found["per_process_max_times_us"]]
        assert one["out_of_place"]["time"] == pytest.approx(fmean(means))
    devices = document["config"]["devices"]
    assert [(one["rank"], one["device"]) for one in devices] == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert len({one["pid"] for one in devices}) == 4
    assert f"Pid {devices[2]['pid']:6d} on" in text


def test_cycles_aggregated_calls_and_slowest_rank(tmp_path):
    """`-N` repeats the sweep, `-m` puts several calls into an iteration, `-a 3` reports the slowest rank."""
    text, document, rows = report_of(
        tmp_path, *["-b", "64K", "-n", "2", "-N", "2", "-m", "3", "-a", "3", "-I", "1", "-d", "half"]
    )
    check_document(document)
    assert [row[0] for row in numbers_of(text)] == ["65536"] * 2
    assert [row["cycle"] for row in rows] == ["1", "1", "2", "2"]
    assert document["config"]["aggregated_iterations"] == 3
    for one in document["results"]:
        means = [fmean(times) for times in one["in_place_per_iter"]["per_process_max_times_us"]]
        assert one["in_place"]["time"] == pytest.approx(max(means))
    # Between two nodes each sends all of the data once, and each of the three calls does so.
    for one in document["r2cc"]["iterations"]:
        assert sum(carried["tx"] for carried in one["rail_bytes"].values()) == 3 * 2 * 65536


def test_time_limit_ends_all_ranks(tmp_path):
    """`-T` gives a call up on every rank with status 4, and names the ranks of the rail that crawls.

    The size before that one had its row in the table as soon as it was done, and is in the report.
    """
    report = tmp_path / "report.json"
    slow = ["--rail-rate", "20MB/s", "--slow", "1:1=0.01", "--strategy", "ring"]
    sizes = ["-b", "8K", "-e", "1M", "-f", "128", "-n", "1", "-w", "0", "-T", "0.5"]
    command = ["run", "allreduce", *TWO_BY_TWO, *slow, *sizes, "--json", str(report)]
    answer = launch([sys.executable, "-m", "r2cc_mpi", *command])
    assert answer.status == 4, str(answer)
    lines = answer.stdout.splitlines()
    assert [row[0] for row in numbers_of(answer.stdout)] == ["8192"]
    assert (
        "took longer than 0.5 s (-T); not finished: rank 1 (node 0 rail 1), rank 3 (node 1 rail 1);"
        in (lines[-1])
    )
    document = json.loads(report.read_text(encoding="utf-8"))
    check_document(document)
    assert ([one["size"] for one in document["results"]], document["r2cc"]["exit_code"]) == ([8192], 4)
    assert answer.seconds < 0.5 + 1 + 5


@pytest.mark.parametrize(("datatype", "op"), [("uint8", "prod"), ("int64", "min"), ("half", "avg")])
def test_other_types_and_operations(datatype, op):
    """Types and operations besides the sum of floats are exact through the death of a rail too."""
    fault = ["--rail-rate", "20MB/s", "--fail", "1:1@iter=2,30%"]
    ended = run(*TWO_BY_TWO, *fault, "-b", "2M", "-n", "3", "-d", datatype, "-o", op)
    check_passed(ended, iterations=3)
    assert len(ended.failovers) == 1
    assert f"{datatype:>8}  {op:>6}      -1" in ended.answer.stdout
