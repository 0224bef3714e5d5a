"""Is there room in shared memory? MPI crashes (bus error) where it should say that there is not."""

from __future__ import annotations

import os
from pathlib import Path

from r2cc_mpi.errors import MachineError

DIRECTORY = Path("/dev/shm")  # noqa: S108  (no temporary file: where MPI's shared windows live)
MPI_BYTES_PER_RANK = 1100 * 1024
"""What MPICH takes for its own messages between ranks of a host (measured: 1,033 KiB a rank)."""


def check_free(needed_bytes: int, what: str) -> None:
    """Make sure that so much is free.

    Args:
        needed_bytes: Bytes that all ranks of this host are about to allocate.
        what: What needs them, for the message.

    Raises:
        MachineError: There is too little.
    """
    if DIRECTORY.is_dir():
        space = os.statvfs(DIRECTORY)
        _compare(space.f_bavail * space.f_frsize, "free", needed_bytes, what)


def check_room_for_mpi(local_ranks: int) -> None:
    """Make sure, before MPI starts, that its own shared memory fits.

    Other ranks may already have taken theirs, so what counts is all there is, not what is free.

    Args:
        local_ranks: Ranks on this host.

    Raises:
        MachineError: There is too little.
    """
    if DIRECTORY.is_dir():
        space = os.statvfs(DIRECTORY)
        needed_bytes = local_ranks * MPI_BYTES_PER_RANK
        _compare(
            space.f_blocks * space.f_frsize, "in all", needed_bytes, f"MPI with {local_ranks} ranks on a host"
        )


def _compare(have_bytes: int, kind: str, needed_bytes: int, what: str) -> None:
    if have_bytes < needed_bytes:
        raise MachineError(
            f"{DIRECTORY} has {have_bytes >> 20} MiB {kind}, {what} needs {-(-needed_bytes >> 20)} MiB: "
            "enlarge it (mount -o remount,size=..., docker --shm-size=...) or use less"
        )
