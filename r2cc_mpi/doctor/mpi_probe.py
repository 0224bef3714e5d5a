"""Starts MPI, says what it is, and ends; on one process, or on every rank of a job.

python -m r2cc_mpi.doctor.mpi_probe LIMIT_S
"""

from __future__ import annotations

import ctypes
import signal
import sys
from pathlib import Path

from r2cc_mpi.doctor.asking import tell

LEVELS = ("THREAD_SINGLE", "THREAD_FUNNELED", "THREAD_SERIALIZED", "THREAD_MULTIPLE")


def library_file() -> str:
    """Say which library of this process is MPI's; empty if none is called like one."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    files = {line.split(maxsplit=5)[-1] for line in lines if "/libmpi" in line}
    return min(files, default="")


def is_cuda_aware(library: str) -> bool | None:
    """Ask MPICH's or Open MPI's extension whether arrays in GPU memory may be sent; None: it does not say."""
    query = getattr(ctypes.CDLL(library), "MPIX_Query_cuda_support", None) if library else None
    return None if query is None else bool(query())


def main(limit_s: int) -> None:
    """Print what this rank sees. A rank that its launcher forgets ends by itself."""
    signal.alarm(limit_s)
    from mpi4py import MPI

    world, library = MPI.COMM_WORLD, library_file()
    world.Barrier()
    tell(
        {
            "version": MPI.Get_library_version().strip("\0 \n").splitlines()[0],
            "standard": ".".join(map(str, MPI.Get_version())),
            "thread_level": next(name for name in LEVELS if getattr(MPI, name) == MPI.Query_thread()),
            "cuda": is_cuda_aware(library),
            "file": library,
            "size": world.size,
        }
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
