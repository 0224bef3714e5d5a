"""Runs a command to its end or to a hard limit, and leaves nothing of it behind.

MPI's launchers put ranks into sessions of their own, so neither a process group nor a tree of parents finds
them all. Every process of a job therefore carries a mark in its environment, by which it is found in /proc.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from r2cc_mpi import pinning
from r2cc_mpi.cli.launch import job_environment
from r2cc_mpi.cli.mpiexec import find_mpiexec, identify

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
MARK = "R2CC_TEST_JOB"
GRACE_S = 5.0
"""How long the processes of a job may outlive the command, which happens while they are being reaped."""


@dataclass(frozen=True)
class Answer:
    """How a command ended.

    Attributes:
        status: Its exit status, negative if a signal ended it.
        stdout: What it printed.
        stderr: What it complained about.
        seconds: How long it took.
    """

    status: int
    stdout: str
    stderr: str
    seconds: float

    def __str__(self) -> str:
        return f"exit status {self.status} after {self.seconds:.1f} s\n{self.stdout}\n{self.stderr}"


def launch(command: list[str], *, timeout_s: float = 60, mark: str = "", **environment: str) -> Answer:
    """Run a command in the repository; the test fails if it does not end in time, or leaves processes.

    Args:
        command: Program and arguments.
        timeout_s: Hard limit, in seconds.
        mark: By which its processes are known; by default one that nobody else has.
        environment: Variables to set besides those of a job.
    """
    mark = mark or uuid.uuid4().hex
    began_at = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**job_environment(_outside_of_jobs(), ROOT), **environment, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        ranks = sorted(ranks_of(processes_of(mark)))
        end(mark)
        stdout, stderr = process.communicate()
        pytest.fail(
            f"{shlex.join(command)} did not end within {timeout_s:g} s; ranks still alive: "
            f"{', '.join(map(str, ranks)) or 'none'}; its output so far:\n{stdout}\n{stderr}"
        )
    answer = Answer(process.returncode, stdout, stderr, time.monotonic() - began_at)
    if left := _outliving(mark):
        names = ", ".join(f"{pid} (rank {rank_of(pid)})" for pid in left)
        end(mark)
        pytest.fail(f"{shlex.join(command)} left processes behind: {names}; {answer}")
    return answer


def mpi_command(ranks: int, program: list[str]) -> list[str]:
    """Write the command that runs a Python program on so many ranks of this machine."""
    mpiexec = identify(find_mpiexec(os.environ, Path(sys.executable)))
    return mpiexec.command(ranks, [sys.executable, *program], as_root=os.geteuid() == 0)


def launch_program(name: str, *arguments: object, ranks: int, timeout_s: float = 60) -> Answer:
    """Run one of the programs beside this file on so many ranks."""
    program = [str(PROGRAMS / name), *map(str, arguments)]
    return launch(mpi_command(ranks, program), timeout_s=timeout_s, PYTHONPATH=str(ROOT))


def processes_of(mark: str) -> list[int]:
    """List the processes that carry a mark."""
    return [pid for pid, environment in _environments() if environment.get(MARK) == mark]


def rank_of(pid: int) -> int | None:
    """Say which rank a process is; None if it is no rank, or gone."""
    with suppress(OSError):
        place = pinning.find_place(_read_environment(Path(f"/proc/{pid}")))
        return None if place is None else place.rank
    return None


def ranks_of(pids: list[int]) -> set[int]:
    """List the ranks among processes."""
    return {rank for rank in map(rank_of, pids) if rank is not None}


def end(mark: str) -> None:
    """Kill everything that carries a mark, also what is just being started."""
    while pids := processes_of(mark):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _outliving(mark: str) -> list[int]:
    """Wait until no process carries the mark; list those that still do after the grace time."""
    until = time.monotonic() + GRACE_S
    while (left := processes_of(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _environments() -> list[tuple[int, dict[str, str]]]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is another user's
            found.append((int(process.name), _read_environment(process)))
    return found


def _read_environment(process: Path) -> dict[str, str]:
    entries = (process / "environ").read_bytes().decode(errors="replace").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _outside_of_jobs() -> dict[str, str]:
    """Give this process's environment without what a launcher may have put there."""
    launchers = (pinning._OPEN_MPI, pinning._PMI, pinning._SLURM, pinning._PMIX)
    names = {name for variables in launchers for name in variables}
    return {name: value for name, value in os.environ.items() if name not in names}
