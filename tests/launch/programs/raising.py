"""Four ranks of which one dies of an exception, at a place that the first word names, or nobody closes."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import numpy as np
from mpi4py import MPI

import r2cc_mpi
from r2cc_mpi.last_resort import mapped_files

where, hook = sys.argv[1:]
world = MPI.COMM_WORLD
array = np.ones(100_000, np.float32)


if world.rank == 0:
    for file in mapped_files(Path("/proc/self/maps").read_text(encoding="utf-8")):
        sys.stdout.write(f"shares {file}\n")
    sys.stdout.flush()


def fail() -> None:
    """Die, on rank 1."""
    if world.rank == 1:
        raise RuntimeError("rank 1 has had enough")


if hook == "own":

    def own_hook(_kind: object, error: BaseException, _trace: object) -> None:
        """Say that the program has a hook of its own."""
        sys.stderr.write("the program's own hook\n")
        traceback.print_exception(error)

    sys.excepthook = own_hook

comm = r2cc_mpi.Communicator(world, rails=2, isolation_timeout=3600)
if where == "outside":
    comm.Allreduce(MPI.IN_PLACE, array)
    fail()
    comm.Allreduce(MPI.IN_PLACE, array)
    comm.close()
elif where == "open":
    comm.Allreduce(MPI.IN_PLACE, array)
    sys.exit()
else:
    with comm:
        comm.Allreduce(MPI.IN_PLACE, array)
        if where == "inside":
            comm.add_hook(lambda _now: fail())
        elif where == "callback":
            comm.add_health_callback(lambda _nic, _health: fail())
            if world.rank == 0:
                comm.add_hook(lambda now: comm.rail_event(up=False, now=now))
        else:
            fail()
        comm.Allreduce(MPI.IN_PLACE, array)
        while where == "callback":
            comm.Barrier()
sys.stdout.write("done\n")
