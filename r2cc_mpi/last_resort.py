"""A rank that dies of an exception takes the job down with its message, at once.

Otherwise the others would wait for it, and MPI's own end would wait for them. The hooks act only while a
communicator is open.
"""

from __future__ import annotations

import atexit
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from r2cc_mpi.endpoint import Endpoint

LAST_WORDS_S = 0.5
"""How long the launcher gets to pass on what was printed; at an abort it drops the rest."""
MPICH_MEMORY = "/dev/shm/mpich_shm_"  # noqa: S108  (no temporary file: where it keeps shared memory)

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


class _Watch:
    """The open communicators of this process and the exception hook that stood before ours."""

    def __init__(self) -> None:
        self.endpoints: weakref.WeakSet[Endpoint] = weakref.WeakSet()
        self.previous: Hook | None = None
        self.is_ending = False
        self.exit_status: int | None = None

    def any_open(self) -> bool:
        return any(endpoint.is_open for endpoint in self.endpoints)

    def on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        (self.previous or sys.__excepthook__)(kind, error, trace)
        if self.any_open():
            end_job()

    def on_exit(self) -> None:
        if self.any_open():
            if not self.is_ending:
                sys.stderr.write(
                    "r2cc: error: the program ends with a communicator open: close() it on every rank\n"
                )
            end_job()
        if self.exit_status is not None:
            end_job(self.exit_status)


_watch = _Watch()


def watch(endpoint: Endpoint) -> None:
    """End the job if this process ends while its communicator is open."""
    if _watch.previous is None:
        _watch.previous = sys.excepthook
        sys.excepthook = _watch.on_exception
        atexit.register(_watch.on_exit)
    _watch.endpoints.add(endpoint)


def abort_at_exit(status: int) -> None:
    """End the job with a status when this process ends: MPI cannot be left in an orderly way any more."""
    _watch.exit_status = status


def end_job(status: int = 1) -> None:
    """Abort MPI's world, after everything printed is out.

    The service thread and the main thread may both come here; neither may go on, since the end of the process
    ends the other.
    """
    from mpi4py import MPI

    _watch.is_ending = True
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(LAST_WORDS_S)
    for file in mapped_files(Path("/proc/self/maps").read_text(encoding="utf-8")):
        file.unlink(missing_ok=True)
    MPI.COMM_WORLD.Abort(status)


def mapped_files(maps: str) -> set[Path]:
    """List the files through which this process's MPI shares memory, which MPICH leaves behind at an abort.

    Who has mapped them keeps them; nobody else can map them any more.

    Args:
        maps: What the kernel says of this process's memory, as in ``/proc/self/maps``.
    """
    paths = (Path(line.split(maxsplit=5)[5]) for line in maps.splitlines() if MPICH_MEMORY in line)
    return {path for path in paths if path.exists()}
