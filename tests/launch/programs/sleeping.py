"""Six ranks as three nodes, of which some do not run for five seconds, in the way that the word names.

`sleep`: rank 1 comes late to a collective, and rank 2 sleeps in the middle of it; `stop`: rank 2's process is
stopped; `fail`: rail 1 of node 2 dies instead, as a check that this would be told.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
from mpi4py import MPI

import r2cc_mpi

PAUSE_S = 5
COUNT = 100_003
how = sys.argv[1]
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
is_right = True
notes: list[str] = []


def pause() -> None:
    """Do not run for a while."""
    if how == "sleep":
        time.sleep(PAUSE_S)
    else:
        with subprocess.Popen(["/bin/sh", "-c", f"sleep {PAUSE_S}; kill -CONT {os.getpid()}"]):
            os.kill(os.getpid(), signal.SIGSTOP)


with r2cc_mpi.Communicator(MPI.COMM_WORLD, rails=2) as comm:

    def pause_once(now: float) -> None:
        """Pause in the middle of the fourth collective."""
        if not notes and comm.counters.sent_bytes > 3.2 * 8 * COUNT * 2 / 3:
            notes.append(f"paused at {now}")
            pause()

    def die(now: float) -> None:
        """Let this rank's rail die."""
        if not comm.rail.is_dead:
            comm.rail.die(late=False)
            comm.rail_event(up=False, now=now)

    if rank == 2 and how in {"sleep", "stop"}:
        comm.add_hook(pause_once)
    if rank == 5 and how == "fail":
        comm.add_hook(die)
    for iteration in range(6):
        if rank == 1 and how == "sleep" and iteration == 3:
            pause()
        array = np.arange(COUNT, dtype=np.int64) + rank + iteration
        comm.Allreduce(MPI.IN_PLACE, array)
        expected = ranks * (np.arange(COUNT) + iteration) + sum(range(ranks))
        is_right = is_right and np.array_equal(array, expected)
    seen = [f"{change.nic} failed" for change in comm.detections]
if rank == 2 and how in {"sleep", "stop"} and not notes:
    seen.append("rank 2 never paused")
sys.stdout.write(f"rank {rank}: {'right' if is_right else 'WRONG'}, {', '.join(seen) or 'nothing failed'}\n")
