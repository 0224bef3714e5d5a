"""Starts the tests in tests/in_world on jobs of several sizes."""

from __future__ import annotations

import re

import pytest

from tests.launch.launcher import ROOT, launch, mpi_command

FOLDER = "tests/in_world"
CONFTEST = "from tests.in_world.conftest import *\n"
SUMMARY = re.compile(
    r"\[rank (?P<rank>\d+): (?P<passed>\d+) passed, 0 failed, 0 error, (?P<skipped>\d+) skipped\]"
)


def world(ranks, *words, folder=FOLDER, timeout_s=240):
    """Run pytest on every rank of a job."""
    options = ["--with-mpi", "-m", "mpi", "-p", "no:cacheprovider", "-o", "timeout=60", "--color=no"]
    return launch(mpi_command(ranks, ["-m", "pytest", folder, *options, *words]), timeout_s=timeout_s)


def check_world(answer, ranks):
    """Make sure that every rank has run the same tests, some at least, and that all of them passed.

    Raises:
        AssertionError: A rank ran none or other tests, or one failed; the message has all output.
    """
    assert answer.status == 0, str(answer)
    summaries = list(SUMMARY.finditer(answer.stdout))
    assert sorted(int(one["rank"]) for one in summaries) == list(range(ranks)), str(answer)
    counts = {(int(one["passed"]), int(one["skipped"])) for one in summaries}
    assert len(counts) == 1, str(answer)
    assert min(counts)[0] > 0, str(answer)


@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_world(ranks):
    """All tests for MPI jobs pass on every rank of a job of this size."""
    check_world(world(ranks), ranks)


def test_world_of_three_by_three():
    """Replaying and planning anew on the papers' 3 x 3, where every strategy can serve."""
    check_world(world(9, "-k", "replanning or in_every_replay", folder=f"{FOLDER}/test_persistent.py"), 9)


def test_world_without_tests_fails():
    """A job whose ranks found nothing to run is no pass, whatever pytest says."""
    with pytest.raises(AssertionError):
        check_world(world(2, "-k", "no_such_test"), 2)


def test_world_that_skips_everything_fails(tmp_path):
    """A job whose tests were all skipped, which pytest takes for a pass, is no pass here."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_nothing.py").write_text(
        "import pytest\n\n\n@pytest.mark.mpi(min_size=99)\ndef test_nothing():\n    pass\n"
    )
    answer = world(2, "-o", f"pythonpath={ROOT}", folder=str(tmp_path))
    assert answer.status == 0
    assert "[rank 1: 0 passed, 0 failed, 0 error, 1 skipped]" in answer.stdout
    with pytest.raises(AssertionError):
        check_world(answer, 2)


FAILING = """
import pytest

@pytest.mark.mpi
def test_fine(world):
    world.Barrier()

@pytest.mark.mpi
def test_odd_rank(world):
    assert world.rank != 1, f"rank {world.rank} is odd"
    world.Barrier()
"""


def test_failure_of_one_rank_is_shown_and_ends_the_job(tmp_path):
    """A rank that fails says so with its number, and the others, which wait for it, do not hang."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_odd.py").write_text(FAILING)
    answer = world(3, "-o", f"pythonpath={ROOT}", folder=str(tmp_path), timeout_s=30)
    assert answer.status != 0
    assert "rank 1 of 3 FAILED" in answer.stderr
    assert "rank 1 is odd" in answer.stderr
    with pytest.raises(AssertionError, match="rank 1 is odd"):
        check_world(answer, 3)
