"""Six ranks as three nodes: node 2 loses both rails in the middle of a collective, and all say what they saw.

Rank 3 then changes an element of its result itself, which the same comparison must notice.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

import r2cc_mpi

COUNT = 2 << 20
rank = MPI.COMM_WORLD.rank
with r2cc_mpi.Communicator(MPI.COMM_WORLD, rails=2, rail_rate=10e6, isolation_timeout=1.0) as comm:
    send = np.arange(COUNT, dtype=np.float32) + rank
    receive = np.full(COUNT, -1, np.float32)

    def cut(now: float) -> None:
        """Let both rails of node 2 die once some chunks have passed."""
        if comm.nic.node == 2 and not comm.rail.is_dead and comm.counters.sent_chunks >= 3:
            comm.rail.die(late=False)
            comm.rail_event(up=False, now=now)
            times.append(now)

    times: list[float] = []
    comm.add_hook(cut)
    began_at = time.monotonic()
    try:
        comm.Allreduce(send, receive)
        seen = "no error"
    except r2cc_mpi.IncompleteCollectiveError as error:
        # It ran for a moment before the cut; ranks of other nodes do not know how long.
        waited_s = time.monotonic() - (times[0] if times else began_at)
        seen = f"{type(error).__name__} after {waited_s:.3f} s ({error})"

    def arrays() -> str:
        """Compare the arrays with what they held before the call."""
        same = np.array_equal(send, np.arange(COUNT, dtype=np.float32) + rank) and bool((receive == -1).all())
        return "arrays as before" if same else "arrays WRITTEN TO"

    sys.stdout.write(f"rank {rank}: {seen}; {arrays()}\n")
    if rank == 3:
        receive[COUNT // 2] += 1
        sys.stdout.write(f"spoiled: {arrays()}\n")
