"""Mistakes on the command line and in a machine: one line, status 1, on every rank."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.launch.launcher import launch, launch_program, mpi_command
from tests.launch.reference_run import run

BAD = [
    ["--nodes", "2", "--rails", "2", "--fail", "2:0@50%"],
    ["--rails", "2", "--strategy", "magic"],
    ["--rails", "2", "-b", "many"],
    ["--rails", "2", "--no-such-option"],
]


def single_error(text, status):
    """Give the one line of `r2cc` in what a job wrote to standard error; launchers add lines of their own.

    Raises:
        AssertionError: There is not exactly one, or the status is not 1.
    """
    assert status == 1, text
    lines = [line for line in text.splitlines() if "r2cc" in line or "Traceback" in line]
    assert len(lines) == 1, text
    assert lines[0].startswith("r2cc: error: "), text
    return lines[0]


@pytest.mark.parametrize("words", BAD, ids=lambda words: " ".join(words[-2:]))
def test_self_launched(words):
    """Alone, a mistake ends before any rank is started: standard error has one line and no more."""
    ended = run(*words)
    assert ended.answer.status == 1
    (line,) = ended.answer.stderr.splitlines()
    assert line == single_error(ended.answer.stderr, ended.answer.status)
    assert ended.answer.stdout == ""
    assert words[-1] in line or words[-2] in line


@pytest.mark.parametrize("words", BAD, ids=lambda words: " ".join(words[-2:]))
def test_under_mpiexec(words):
    """Under mpiexec every rank ends with status 1, and one of them says why."""
    answer = launch_program("status.py", "run", "allreduce", *words, ranks=4)
    assert answer.stdout.splitlines() == ["status 1"] * 4, str(answer)
    single_error(answer.stderr, 1)


def test_status_of_mpiexec():
    """The launcher ends with status 1 too."""
    answer = launch(mpi_command(4, ["-m", "r2cc_mpi", "run", "allreduce", *BAD[0]]))
    assert "there is no node 2" in single_error(answer.stderr, answer.status)


def test_second_line_would_be_seen():
    """The check refuses a second message, a traceback and another status."""
    good = "r2cc: error: no\nlauncher: a rank ended with 1\n"
    assert single_error(good, 1) == "r2cc: error: no"
    for text, status in ((good * 2, 1), (good + "Traceback (most recent call last):", 1), (good, 2), ("", 1)):
        with pytest.raises(AssertionError):
            single_error(text, status)


def private_shared_memory(mebibytes):
    """Give the words in front of a command that let it have so much shared memory; skip where that fails."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small /dev/shm")
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to hide the small /dev/shm from others")
    mount = f'mount -t tmpfs -o size={mebibytes}m tmpfs /dev/shm && exec "$@"'
    words = ["unshare", "-m", "sh", "-c", mount, "sh"]
    answer = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip(f"this machine allows no private mounts ({answer.stderr.strip()})")
    return words


@pytest.mark.parametrize(
    ("mebibytes", "size"), [(1, "1M"), (12, "1M"), (64, "32M")], ids=["MPI", "mailboxes", "node buffers"]
)
def test_too_little_shared_memory(mebibytes, size):
    """Whatever does not fit, the job ends with one line that says how much there is and how much it takes."""
    job = ["-m", "r2cc_mpi", "run", "allreduce", "--nodes", "2", "--rails", "2", "-b", size, "-n", "1"]
    answer = launch([*private_shared_memory(mebibytes), sys.executable, *job])
    line = single_error(answer.stderr, answer.status)
    assert re.search(rf"has ({mebibytes} MiB in all|\d+ MiB free), .* needs \d+ MiB", line)
    assert "enlarge it" in line


def test_enough_shared_memory():
    """The same job runs where there is enough, so that it is the memory that the others lack."""
    job = ["-m", "r2cc_mpi", "run", "allreduce", "--nodes", "2", "--rails", "2", "-b", "1M", "-n", "1"]
    assert launch([*private_shared_memory(64), sys.executable, *job]).status == 0
