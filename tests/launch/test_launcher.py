from __future__ import annotations

import sys

import pytest

from tests.launch import launcher
from tests.launch.launcher import end, launch, mpi_command, processes_of

HANG = """
import os, sys, time
rank = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
print("rank", rank, "is here", flush=True)
if rank != 1:
    time.sleep(600)
"""

DESERT = """
import subprocess, sys
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
nowhere = subprocess.DEVNULL
subprocess.Popen(sleeper, start_new_session=True, stdin=nowhere, stdout=nowhere, stderr=nowhere)
"""


def test_answer_holds_what_the_command_said():
    """Status, output and complaints come back."""
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    answer = launch([sys.executable, "-c", code])
    assert (answer.status, answer.stdout, answer.stderr) == (7, "out\n", "err\n")


def test_hanging_job_is_ended_and_its_ranks_named():
    """A job that never ends is ended in time, with the ranks that were left, and its output is shown."""
    with pytest.raises(pytest.fail.Exception) as failure:
        launch(mpi_command(3, ["-c", HANG]), timeout_s=3, mark="hanging job")
    assert "did not end within 3 s; ranks still alive: 0, 2;" in str(failure.value)
    for rank in range(3):
        assert f"rank {rank} is here" in str(failure.value)
    assert processes_of("hanging job") == []


def test_process_that_is_left_behind_is_found(monkeypatch):
    """A job that ends well but leaves a process running fails, and the process is ended."""
    monkeypatch.setattr(launcher, "GRACE_S", 0.2)
    with pytest.raises(pytest.fail.Exception, match="left processes behind"):
        launch([sys.executable, "-c", DESERT], mark="deserting job")
    assert processes_of("deserting job") == []


def test_only_marked_processes_are_ended():
    """Ending a job leaves every other process alone."""
    end("a mark that nobody carries")
    assert launch([sys.executable, "-c", "print('fine')"]).stdout == "fine\n"
