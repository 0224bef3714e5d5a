"""Running a task on a test network while links are cut and healed from outside.

The job is never told. The process that cuts is this one, outside all nodes; it only hears when an iteration
begins.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from r2cc_mpi.errors import TimeLimitError
from scripts.network.job import Job, Mpi
from scripts.network.links import Moment
from scripts.network.testbed import Testbed
from scripts.reproduction.record import JobRecord, read_record
from scripts.reproduction.task import Task

LAST_LINES = 12
"""How much of its output is shown of a job that failed."""


@dataclass(frozen=True)
class Action:
    """Something that is done to the network while a job runs.

    Attributes:
        name: What it is called in the outcome.
        stage: Label of the stage that it waits for.
        iteration: Which iteration of that stage, from 1.
        delay_s: How long after the beginning of that iteration.
        act: What is done; returns when the kernel did it.
    """

    name: str
    stage: str
    iteration: int
    delay_s: float
    act: Callable[[], Moment]


@dataclass(frozen=True)
class Outcome:
    """How a job went.

    Attributes:
        status: Its exit status; None if it had to be ended.
        record: What its ranks gave back; None if nothing.
        moments: When the kernel did what, by the name of the action; those that had no turn are missing.
        ended_at: When the job was gone, on CLOCK_MONOTONIC.
        said: The last lines that it printed.
    """

    status: int | None
    record: JobRecord | None
    moments: dict[str, Moment]
    ended_at: float
    said: str

    @property
    def failure(self) -> str:
        """Why there is nothing to judge; empty if the job came to its end and gave its record."""
        if self.status is None:
            return f"the job hung and was ended: {self.said}"
        if self.status or self.record is None:
            return f"the job ended with status {self.status}: {self.said}"
        return ""


def run_task(bed: Testbed, task: Task, mpi: Mpi, actions: Sequence[Action], limit_s: float) -> Outcome:
    """Run a task to its end.

    Args:
        bed: The network, which has the rails of the task.
        task: What the ranks do; its output is set here.
        mpi: Whose MPI.
        actions: What is done to the network meanwhile.
        limit_s: The job is ended after so many seconds.

    Returns:
        The outcome, whatever it is.
    """
    with tempfile.TemporaryDirectory() as folder:
        file, output = Path(folder) / "task.json", Path(folder) / "record.json"
        replace(task, output=str(output)).write(file)
        program = [sys.executable, "-m", "scripts.reproduction.ranks", str(file)]
        with bed.start_program(program, mpi=mpi, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as job:
            session = Session(job, actions)
            status = session.follow(limit_s)
            ended_at = time.monotonic()
        record = read_record(output) if output.exists() else None
    return Outcome(status, record, session.moments, ended_at, "\n".join(session.said[-LAST_LINES:]))


class Session:
    """A job that runs, and the actions that wait for their turn.

    Args:
        job: The job, whose output is a pipe.
        actions: What is to be done.

    Attributes:
        moments: When the kernel did what.
        said: The lines that the job printed for people.
    """

    def __init__(self, job: Job, actions: Sequence[Action]) -> None:
        self._job, self._waiting = job, list(actions)
        self._due: list[tuple[float, Action]] = []
        self._begun: dict[str, int] = {}
        self.moments: dict[str, Moment] = {}
        self.said: list[str] = []

    def follow(self, limit_s: float) -> int | None:
        """Act while the job runs; return its status, or None if it had to be ended."""
        deadline = time.monotonic() + limit_s
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        assert self._job.process.stdout is not None
        reader = threading.Thread(target=_read, args=(self._job.process.stdout, lines), daemon=True)
        reader.start()
        while (now := time.monotonic()) < deadline:
            next_at = min([deadline, *(at for at, _ in self._due)])
            try:
                line = lines.get(timeout=max(next_at - now, 0.0))
            except queue.Empty:
                self._act()
                continue
            if line is None:
                break
            self._hear(line)
        try:
            return self._job.wait(max(deadline - time.monotonic(), 0.01))
        except TimeLimitError:
            return None
        finally:
            reader.join()  # the job is gone, and with it whoever could still write

    def _hear(self, line: str) -> None:
        if not line.startswith("{"):
            self.said.append(line)
            return
        event = json.loads(line)
        count = self._begun[event["stage"]] = self._begun.get(event["stage"], 0) + 1
        for action in list(self._waiting):
            if (action.stage, action.iteration) == (event["stage"], count):
                self._waiting.remove(action)
                self._due.append((event["at"] + action.delay_s, action))

    def _act(self) -> None:
        now = time.monotonic()
        for at, action in sorted(self._due, key=lambda one: one[0]):
            if at <= now:
                self._due.remove((at, action))
                self.moments[action.name] = action.act()


def _read(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with stream:
        for line in stream:
            lines.put(line.rstrip("\n"))
    lines.put(None)
