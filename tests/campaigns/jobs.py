"""Starts the jobs of a campaign, ends those that hang, and cleans up behind them."""

from __future__ import annotations

import signal
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

import pytest

from tests.launch.conftest import SHARED_MEMORY, forgotten_files
from tests.launch.launcher import end, launch


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        status: Its exit status; None if it had to be killed, or left processes behind.
        text: What it printed and complained about, or which of its ranks hung.
        seconds: How long it took.
    """

    status: int | None
    text: str
    seconds: float


def run_job(command: list[str], *, timeout_s: float, **environment: str) -> Ended:
    """Run a command in the repository, to its end or to a hard limit.

    Args:
        command: Program and arguments.
        timeout_s: After so many seconds every process of it is killed.
        environment: Variables to set besides those of any job.
    """
    mark = uuid.uuid4().hex
    began_at, began_date = time.monotonic(), time.time()
    try:
        answer = launch(command, timeout_s=timeout_s, mark=mark, **environment)
    except pytest.fail.Exception as failure:  # how the launcher of the tests says that it had to kill
        tidy_shared_memory(began_date)
        return Ended(None, str(failure), time.monotonic() - began_at)
    finally:
        end(mark)  # also when the campaign itself is interrupted
    return Ended(answer.status, f"{answer.stdout}\n{answer.stderr}", answer.seconds)


def tidy_shared_memory(since: float) -> None:
    """Remove what a job that was killed has left in shared memory.

    Args:
        since: When it began, seconds of the epoch.
    """
    with suppress(FileNotFoundError):  # another job's file may go away while this looks at it
        for file in forgotten_files(SHARED_MEMORY, since):
            file.unlink()


def end_politely() -> None:
    """Let a request to end this process pass through the clean-up of :func:`run_job`."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)


def last_line(text: str) -> str:
    """Give the last line that says anything."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing was said")


def say(line: str) -> None:
    """Write a line for the person who waits."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
