"""The user's own arrays, from files to files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.launch.launcher import launch
from tests.launch.reference_run import Run, check_passed, run

RANKS = 6
LAYOUT = ["--nodes", "3", "--rails", "2", "--rail-rate", "50MB/s"]


def write_arrays(folder, dtype, shape, seed=1):
    """Write an array for each rank, full of integers of either sign; give their sum by NumPy."""
    random = np.random.default_rng(seed)
    arrays = [random.integers(-(10**6), 10**6, shape).astype(dtype) for _ in range(RANKS)]
    for rank, array in enumerate(arrays):
        np.save(folder / f"rank{rank}.npy", array)
    return sum(arrays)


def check_results(folder, expected):
    """Make sure that every rank's result is the expected array, element by element.

    Raises:
        AssertionError: One is not.
    """
    for rank in range(RANKS):
        result = np.load(folder / f"rank{rank}.npy")
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        wrong = np.flatnonzero((result != expected).reshape(-1))
        assert len(wrong) == 0, f"rank {rank}: {len(wrong)} elements differ, the first at {wrong[0]}"


@pytest.mark.parametrize(
    ("dtype", "shape", "fault"),
    [
        ("int64", (300, 401), ["--fail", "1:0@iter=2,30%"]),
        ("int32", (1009,), []),
        ("int32", (17, 3, 5000), ["--fail", "1:0@iter=1,50%", "--fail", "2:1@iter=2,50%"]),
    ],
    ids=["through a failure", "a prime number", "through two failures"],
)
def test_results_are_numpys_sums(tmp_path, dtype, shape, fault):
    """Every rank's file holds NumPy's sum of all input files, also when rails die on the way."""
    expected = write_arrays(tmp_path, dtype, shape)
    output = tmp_path / "results"
    ended = run(*LAYOUT, "-n", "2", "--input", str(tmp_path), "--output", str(output), *fault)
    check_passed(ended, iterations=2 if fault else 4)
    assert len(ended.failovers) == len(fault) // 2
    check_results(output, expected)


def test_check_of_results_sees_one_element(tmp_path):
    """A single element that differs in one rank's file is found."""
    expected = write_arrays(tmp_path, "int64", (100,))
    for rank in range(RANKS):
        np.save(tmp_path / f"rank{rank}.npy", expected)
    check_results(tmp_path, expected)
    spoiled = expected.copy()
    spoiled[77] += 1
    np.save(tmp_path / "rank5.npy", spoiled)
    with pytest.raises(AssertionError, match="rank 5: 1 elements differ, the first at 77"):
        check_results(tmp_path, expected)


def test_results_are_not_written_when_the_job_fails(tmp_path):
    """A collective that could not complete leaves no result files."""
    write_arrays(tmp_path, "int32", (1 << 20,))
    output = tmp_path / "results"
    cut = ["--fail", "2:0@20%", "--fail", "2:1@20%", "--isolation-timeout", "1"]
    ended = run(*LAYOUT, "-n", "1", "--input", str(tmp_path), "--output", str(output), *cut)
    assert ended.answer.status == 4, str(ended.answer)
    assert "node 2" in ended.verdict
    assert not output.exists()


def one_error(ended):
    """Give the one line on standard error.

    Raises:
        AssertionError: There is more than that line, or the status is not 1.
    """
    assert ended.answer.status == 1, str(ended.answer)
    (line,) = ended.answer.stderr.splitlines()
    assert line.startswith("r2cc: error: ")
    return line


def test_missing_and_unequal_arrays_are_refused(tmp_path):
    """A missing file, and one of another shape, end the job before it starts, with one line that names it."""
    write_arrays(tmp_path, "int32", (10,))
    (tmp_path / "rank4.npy").unlink()
    assert "rank4.npy is missing" in one_error(run(*LAYOUT, "--input", str(tmp_path)))
    np.save(tmp_path / "rank4.npy", np.zeros(11, np.int32))
    assert "rank4.npy is int32 of shape (11,)" in one_error(run(*LAYOUT, "--input", str(tmp_path)))


@pytest.mark.parametrize("option", ["--output", "--json"])
def test_unwritable_files_are_one_line(tmp_path, option):
    """When results or the report cannot be written every rank ends alike, soon, with one line."""
    write_arrays(tmp_path, "int32", (10,))
    target = tmp_path / "rank0.npy" / "results" if option == "--output" else Path("/proc/report.json")
    command = ["-m", "r2cc_mpi", "run", "allreduce", *LAYOUT, "-n", "1", "--input", str(tmp_path)]
    answer = launch([sys.executable, *command, option, str(target)], timeout_s=10)
    assert f"{option} {target}: cannot write" in one_error(Run(answer, {}))
