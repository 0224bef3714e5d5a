"""Tidies up after jobs that were ended the hard way, as some of these tests must."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (no temporary file: where MPI's shared windows live)
SETTLED_S = 1.0
"""A file younger than this may be one that a starting job has not mapped yet."""


@pytest.fixture(scope="session", autouse=True)
def tidy_shared_memory():
    """Remove the memory that MPICH's ranks shared and left behind when their job was aborted.

    It takes 4 MiB for each such job, and in a container there are often no more than 64.
    """
    began_at = time.time()
    yield
    for file in forgotten_files(SHARED_MEMORY, began_at):
        file.unlink(missing_ok=True)


def forgotten_files(folder, began_at):
    """List MPICH's files that no process has mapped, younger than `began_at`, seconds of the epoch."""
    settled_at = time.time() - SETTLED_S
    new = [file for file in folder.glob("mpich_shm_*") if began_at <= _changed_at(file) < settled_at]
    mapped = "".join(_maps()) if new else ""
    return [file for file in new if str(file) not in mapped]


def _changed_at(file):
    try:
        return file.stat().st_ctime
    except FileNotFoundError:  # another job has just removed its own
        return 0.0


def _maps():
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is another user's
            yield (process / "maps").read_text()
