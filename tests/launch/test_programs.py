"""Users' own programs: ranks that die, stop or sleep in the middle."""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path

import pytest

from r2cc_mpi.cli.mpiexec import Flavour, find_mpiexec, identify
from tests.launch.launcher import launch_program


def is_mpich():
    """Say whether the ranks run under MPICH, which shares memory through a file."""
    return identify(find_mpiexec(os.environ, Path(sys.executable))).flavour is Flavour.HYDRA


@pytest.mark.parametrize(
    ("where", "hook"),
    [*product(["between", "inside", "outside"], ["plain", "own"]), ("callback", "plain")],
)
def test_rank_that_raises_takes_the_job_down(where, hook):
    """A rank that dies of an exception ends the whole job with its message, at once.

    Between two collectives, inside one, without a `with`, or in a function that is told of failures; with
    Python's own exception hook, or with one that the program has set. Otherwise the others would wait for
    the isolation timeout, here an hour. No shared memory stays behind.
    """
    answer = launch_program("raising.py", where, hook, ranks=4, timeout_s=20)
    assert answer.status not in {0, 4}, str(answer)
    assert "RuntimeError: rank 1 has had enough" in answer.stderr
    assert "done" not in answer.stdout
    if hook == "own":
        assert "the program's own hook" in answer.stderr
    shared = [Path(line.split()[1]) for line in answer.stdout.splitlines() if line.startswith("shares ")]
    assert len(shared) == is_mpich()
    assert not any(file.exists() for file in shared)


def test_forgotten_close_is_said():
    """A program that ends with a communicator open is told so, and ends with an error."""
    answer = launch_program("raising.py", "open", "plain", ranks=2, timeout_s=20)
    assert answer.status != 0
    assert "communicator open: close() it on every rank" in answer.stderr


def test_mismatch_is_raised_everywhere():
    """When one rank's array is larger every rank is told so, and the program can end in peace.

    The larger array also needs more shared memory, which the ranks of a node must allocate together. If the
    odd one is rank 0, which speaks for all, it is the others who are named.
    """
    for odd, rails, counts in ((1, 2, "1000000 instead of 1000 "), (0, 2, "1000 instead of 1000000 ")):
        answer = launch_program("mismatch.py", odd, rails, ranks=4, timeout_s=20)
        assert answer.status == 0, str(answer)
        lines = sorted(answer.stdout.splitlines())
        for rank, line in enumerate(lines):
            assert line.startswith(f"rank {rank}: SignatureMismatchError collective 1: rank"), str(answer)
            assert counts in line
            assert "written" not in line
        assert len(lines) == 4


@pytest.mark.parametrize("how", ["sleep", "stop"])
def test_rank_that_does_not_run_is_not_declared_dead(how):
    """Ranks that do not run for five seconds are waited for: no NIC is given up.

    Rank 1 comes late to a collective and rank 2 sleeps inside it, or rank 2's process is stopped inside it.
    """
    answer = launch_program("sleeping.py", how, ranks=6, timeout_s=60)
    assert answer.status == 0, str(answer)
    assert sorted(answer.stdout.splitlines()) == [f"rank {rank}: right, nothing failed" for rank in range(6)]


def test_declared_death_would_be_seen():
    """The program of the test before does say what failed."""
    answer = launch_program("sleeping.py", "fail", ranks=6, timeout_s=60)
    assert answer.status == 0, str(answer)
    assert answer.stdout.count("node 2 rail 1 failed") == 6, str(answer)
