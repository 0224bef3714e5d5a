"""One rank's array is larger than the others'; each rank says what it was told, and goes on to the end."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

import r2cc_mpi

odd, rails = map(int, sys.argv[1:])
rank = MPI.COMM_WORLD.rank
with r2cc_mpi.Communicator(MPI.COMM_WORLD, rails=rails) as comm:
    array = np.ones(1_000_000 if rank == odd else 1000, np.float32)

    def attempt() -> str:
        """Make the call and give the error."""
        try:
            comm.Allreduce(MPI.IN_PLACE, array)
        except r2cc_mpi.SignatureMismatchError as error:
            return f"SignatureMismatchError {error}"
        return "nothing"

    attempt()
    told = attempt()  # the second call finds the communicator given up, and says the same
    told += "" if (array == 1).all() else " and the array was written to"
    sys.stdout.write(f"rank {rank}: {told}\n")
