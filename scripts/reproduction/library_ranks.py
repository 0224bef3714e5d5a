"""What every rank runs for the comparison: MPI's own Allreduce, checked and timed like ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from r2cc_mpi.driver import clock
from r2cc_mpi.patterns import Pattern


def main() -> None:
    """Run a rank; the arguments are elements, iterations, and the file for what rank 0 found."""
    elements, iterations, output = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    world = MPI.COMM_WORLD
    data = Pattern(np.float32, world.rank, world.size)
    send, result = (np.zeros(elements, np.float32) for _ in range(2))
    times: list[float] = []
    wrong = 0
    for number in range(iterations + 1):
        data.fill(send, number)
        data.spoil(result, number)
        world.Barrier()
        began_at = clock()
        world.Allreduce(send, result)
        times.append(clock() - began_at)
        wrong += data.count_wrong(result, number)
    slowest = np.max(world.allgather(times), axis=0).tolist()
    found = {"times_s": slowest[1:], "wrong": world.allreduce(wrong), "library": MPI.Get_library_version()}
    if world.rank == 0:
        output.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
