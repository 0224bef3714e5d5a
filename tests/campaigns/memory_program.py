"""On every rank of a job: what an AllReduce takes besides the user's arrays, and whether calls add to it.

    python -m tests.campaigns.memory_program RAILS SIZE CALLS LEAK REPORT

Rank 0 writes what all ranks measured to REPORT, as JSON. LEAK is a number of bytes that each of the CALLS
keeps on purpose: with 0 nothing is planted.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from mpi4py import MPI

from r2cc_mpi import Communicator
from tests.campaigns.memory import SETTLING_CALLS, RankMemory
from tests.in_world.data import check_equal, contribution, total

REPEATS = 3
SAMPLE_S = 0.002
MIXED_BYTES = (8, 5000, 64 << 10, 300_000, 1 << 20, 4 << 20)


def resident() -> dict[str, int]:
    """Give this process's memory in bytes, by the kernel's names, which begin with Vm or Rss."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    words = [line.split() for line in lines if line.startswith(("Vm", "Rss"))]
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, _ in words}


def fair_share_of_shared() -> int:
    """Give the shared memory of this process, each page divided by the number of processes that have it."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Shmem:"))


@contextmanager
def watching(peak: list[int]) -> Iterator[None]:
    """Keep the most private memory that this process had meanwhile."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(SAMPLE_S):
            peak.append(resident()["RssAnon"])
            peak[:] = [max(peak)]

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def extra(world: MPI.Intracomm, rails: int, size: int) -> tuple[int, int]:
    """Reduce an array some times; give what that took besides the arrays.

    Returns:
        Private memory at its peak plus a fair share of what is shared; and the growth of the peak of resident
        memory, in which every rank of a node counts all of it.
    """
    count = size // 4
    send, receive = contribution(world.rank, count, "float32"), np.full(count, -1, np.float32)
    expected = total(world.size, count, "float32")
    world.Barrier()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
    before, shared_before = resident(), fair_share_of_shared()
    peak = [before["RssAnon"]]
    with Communicator(world, rails=rails) as comm:
        with watching(peak):
            for _ in range(REPEATS):
                comm.Allreduce(send, receive)
        most, shared = resident()["VmHWM"], fair_share_of_shared()
        comm.Barrier()
    check_equal(receive, expected, "the result")
    return max(peak) - before["RssAnon"] + shared - shared_before, most - before["VmRSS"]


def held() -> int:
    """Give the bytes that Python's and NumPy's objects hold, without those that only wait to be collected."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def growth(world: MPI.Intracomm, rails: int, calls: int, leak: int) -> tuple[int, int]:
    """Make calls of mixed sizes; give how much more Python and NumPy hold after them, and shared memory."""
    dice = random.Random(calls)
    sizes = [*MIXED_BYTES[::-1], *(dice.choice(MIXED_BYTES) for _ in range(SETTLING_CALLS + calls))]
    begins_at = len(sizes) - calls
    send, receive = (np.ones(MIXED_BYTES[-1] // 4, np.float32) for _ in range(2))
    kept = []
    tracemalloc.start()
    try:
        with Communicator(world, rails=rails) as comm:
            for number, size in enumerate(sizes):
                if number == begins_at:
                    comm.settle()
                    began, shared = held(), fair_share_of_shared()
                elif number > begins_at and leak:
                    kept.append(np.empty(leak, np.uint8))
                comm.Allreduce(send[: size // 4], receive[: size // 4])
                assert (receive[: size // 4] == world.size).all()
            comm.settle()
            return held() - began, fair_share_of_shared() - shared
    finally:
        tracemalloc.stop()


def main() -> None:
    """Measure, and let rank 0 write what all ranks found."""
    rails, size, calls, leak = map(int, sys.argv[1:5])
    world = MPI.COMM_WORLD
    fair, resident_growth = extra(world, rails, size) if size else (0, 0)
    grown, shared_grown = growth(world, rails, calls, leak) if calls else (0, 0)
    found = world.gather(RankMemory(fair, resident_growth, grown, shared_grown)._asdict())
    if world.rank == 0:
        Path(sys.argv[5]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
