"""Asking another process, for at most so long: what might hang or crash must not do so in the doctor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MARK = "r2cc-doctor "
"""What a probe prints before its JSON, so that it is found among whatever else is printed."""
LIMIT_S = 30.0
ENDING_S = 2.0


@dataclass(frozen=True)
class Reply:
    """How a process ended.

    Attributes:
        status: Its exit status; None if it did not end in time, or could not be started.
        output: What it printed.
        complaint: What it wrote to standard error, in one line, or why it could not be asked.
    """

    status: int | None
    output: str
    complaint: str

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The JSON objects behind the marks in the output; the ranks of a job print one each."""
        # Two ranks may share a line, if a launcher puts their output together.
        pieces = [piece.partition("\n")[0] for piece in self.output.split(MARK)[1:]]
        return [json.loads(piece) for piece in pieces]


def ask(command: Sequence[str], environment: Mapping[str, str], limit_s: float = LIMIT_S) -> Reply:
    """Run a command, to its end or to the limit, and read what it prints.

    A command that takes longer is asked to end (a launcher then ends its ranks too) and then killed.

    Args:
        command: Program and arguments.
        environment: Its whole environment.
        limit_s: Seconds it may take.
    """
    try:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Reply(None, "", f"{command[0]} does not run: {error.strerror}")
    try:
        output, complaints = process.communicate(timeout=limit_s)
        return Reply(process.returncode, output, telling_line(complaints))
    except subprocess.TimeoutExpired:
        _end(process)
        return Reply(None, "", f"no answer within {limit_s:g} s")


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a process and its group to end, then kill them; what they still print is lost."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_S)
            break
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()


def telling_line(complaints: str) -> str:
    """Pick the line that says most: the last one with `error` in it, else the last one with a word."""
    lines = [line.strip() for line in complaints.splitlines() if any(map(str.isalnum, line))]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or [""])[-1]


def tell(answer: dict[str, Any]) -> None:
    """Print an answer; for the other side, the probes."""
    os.write(1, f"{MARK}{json.dumps(answer)}\n".encode())  # in one piece: the ranks of a job share the pipe
