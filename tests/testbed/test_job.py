from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from r2cc_mpi.errors import MachineError, TimeLimitError
from scripts.network import build, kernel
from scripts.network.job import Mpi, mpi_command
from tests.testbed.talk import LIMIT_S, on_node

SLEEPERS = "sleep 1000 & sleep 1000 & setsid sleep 1000 & echo ready; wait"
RUNNING = 5
"""They, their shell, and `unshare`, which waits for it."""


def inhabitants(bed):
    """Count the processes that live on the nodes."""
    return sum(len(kernel.inhabitants(part)) for part in build.parts_of(bed.name))


def started(bed, node=0):
    """Start some processes on a node, one of them in a session of its own, and wait until they are there."""
    job = bed.start_on_node(node, ["sh", "-c", SLEEPERS], stdout=subprocess.PIPE)
    assert job.process.stdout.readline() == "ready\n"
    job.process.stdout.close()
    return job


def test_a_node_is_a_world_of_its_own(bed):
    """A program on a node sees its name, its links, its processes, the other hosts and its own memory."""
    assert on_node(bed, 1, "uname", "-n") == "n1\n"
    assert on_node(bed, 1, "ls", "/sys/class/net").split() == ["lo", "mgmt", "rail0", "rail1"]
    assert on_node(bed, 1, "sh", "-c", "cd /proc; echo [0-9]*") == "1\n"
    assert on_node(bed, 1, "cat", "/etc/hosts").splitlines() == [
        "127.0.0.1 localhost",
        "10.77.0.1 n0",
        "10.77.0.2 n1",
    ]
    assert on_node(bed, 1, "ls", "/dev/shm") == "hosts\n"  # noqa: S108
    assert os.uname().nodename != "n1"


def test_exit_status(bed):
    """The status of a job is its command's."""
    with bed.start_on_node(0, ["sh", "-c", "exit 7"]) as job:
        assert job.wait(LIMIT_S) == 7


def test_end(bed):
    """Ending a job ends all of it, also what has left its session, at once; twice does no harm."""
    with started(bed) as job:
        assert inhabitants(bed) == RUNNING
        job.end()
        assert inhabitants(bed) == 0
    assert job.wait(LIMIT_S) == 128 + signal.SIGKILL


def test_time_limit(bed):
    """A job that takes too long is ended, and the message says so."""
    with started(bed) as job, pytest.raises(TimeLimitError, match=r"did not end within 0.1 s"):
        job.wait(0.1)
    assert inhabitants(bed) == 0


def test_down_ends_what_runs(bed):
    """Taking a network down ends the processes on its nodes."""
    job = started(bed, node=1)
    bed.down()
    assert job.wait(LIMIT_S) != 0
    assert build.parts_of(bed.name) == []


def test_death_of_the_owner(bed):
    """When the process that started a job is killed without a word, the kernel ends the job."""
    program = (
        "import sys; from scripts.network.testbed import Testbed\n"
        f"job = Testbed(sys.argv[1]).start_on_node(0, ['sh', '-c', {SLEEPERS!r}]); job.wait({LIMIT_S})"
    )
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", program, bed.name]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        assert inhabitants(bed) == RUNNING
        owner.kill()
    until = time.monotonic() + LIMIT_S
    while inhabitants(bed) and time.monotonic() < until:
        time.sleep(0.01)
    assert inhabitants(bed) == 0


def test_launcher_of_another_mpi(monkeypatch, tmp_path):
    """Where the launcher that is found belongs to another MPI, the message says whose it is."""
    fake = tmp_path / "mpiexec"
    fake.write_text("#!/bin/sh\necho HYDRA\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(MachineError, match=r"--mpi openmpi: .* is of MPICH: apt install openmpi-bin"):
        mpi_command(Mpi.OPEN_MPI, 2, 2, ["true"])
