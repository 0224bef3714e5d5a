"""The ranks of `scripts/bench`: our AllReduce and the MPI library's, call by call on the same ranks."""

from __future__ import annotations

import cProfile
import json
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from bare_ring import BareRing
from mpi4py import MPI

import r2cc_mpi
from analysis import cost_model

PROFILED_BYTES = (8, 16 << 20)
PACED_BYTES, PACED_RATE = 8 << 20, 20e6
GROUPS = {
    "mpi_rail.py": "MPI: sending, receiving, testing",
    "executor.py": "adding up, applying, copying out",
    "contribution.py": "adding up, applying, copying out",
    "reduction.py": "adding up, applying, copying out",
    "driver.py": "polling and waiting",
    "mailbox.py": "shared memory between ranks",
    "shared_node.py": "shared memory between ranks",
    "virtual_rail.py": "virtual rail",
}


def time_calls(call: Callable[[], None], barrier: Callable[[], None], repeats: int) -> list[float]:
    """Time a collective; every call begins on all ranks together. Returns seconds, without the first two."""
    times = []
    for _ in range(repeats + 2):
        barrier()
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return times[2:]


def slowest_median(world: MPI.Intracomm, times: list[float]) -> float:
    """Median over the calls of the slowest rank's time, in seconds."""
    return median(max(of_call) for of_call in zip(*world.allgather(times), strict=True))


def compare(world: MPI.Intracomm, rails: int, sizes: list[int]) -> list[dict[str, float]]:
    """Measure whole calls of both, unpaced, size by size and side by side."""
    rows = []
    with r2cc_mpi.Communicator(world, rails=rails) as comm:
        for size in sizes:
            send = np.ones(max(1, size // 4), np.float32)
            receive = np.zeros_like(send)
            repeats = 20 if size <= 1 << 20 else 7
            ours = time_calls(lambda s=send, r=receive: comm.Allreduce(s, r), comm.Barrier, repeats)
            report = comm.last_report
            assert report is not None
            network = world.allreduce(report.network_s, MPI.MAX)
            theirs = time_calls(lambda s=send, r=receive: world.Allreduce(s, r), comm.Barrier, repeats)
            ring = BareRing(world, rails, len(send))
            bare = time_calls(lambda b=ring, s=send, r=receive: b.allreduce(s, r), comm.Barrier, repeats)
            ring.free()
            times = {
                name: slowest_median(world, seconds)
                for name, seconds in (("ours_s", ours), ("mpi_s", theirs), ("bare_s", bare))
            }
            rows.append({"size_bytes": send.nbytes, **times, "network_s": network})
    return rows


def break_down(world: MPI.Intracomm, rails: int, size: int) -> dict[str, float]:
    """Where a call's time goes, in seconds: mean over the ranks, median over the calls."""
    parts: dict[str, list[float]] = {"until START": [], "between nodes": [], "end of the node": []}
    with r2cc_mpi.Communicator(world, rails=rails) as comm:
        data = np.ones(max(1, size // 4), np.float32)
        for _ in range(20):
            comm.Barrier()
            comm.Allreduce(MPI.IN_PLACE, data)
            report = comm.last_report
            assert report is not None
            rest_s = report.time_s - report.start_s - report.network_s
            for times, seconds in zip(
                parts.values(), (report.start_s, report.network_s, rest_s), strict=True
            ):
                times.append(seconds)
    return {part: fmean(world.allgather(median(times[2:]))) for part, times in parts.items()}


def profile(world: MPI.Intracomm, rails: int, size: int) -> dict[str, float]:
    """Share of CPU time by what it is spent on, over all ranks; profiling itself inflates Python code."""
    spent: Counter[str] = Counter()
    with r2cc_mpi.Communicator(world, rails=rails) as comm:
        send = np.ones(max(1, size // 4), np.float32)
        receive = np.zeros_like(send)
        comm.Allreduce(send, receive)
        profiler = cProfile.Profile(time.thread_time)
        profiler.enable()
        for _ in range(10):
            comm.Allreduce(send, receive)
        profiler.disable()
    statistics: dict[Any, Any] = vars(pstats.Stats(profiler))["stats"]
    for (file, _, function), (_, _, own_s, _, _) in statistics.items():
        path = Path(file)
        group = GROUPS.get(path.name, "protocol" if path.parent.name == "protocol" else "the rest")
        if function in {"<built-in method time.sleep>", "<built-in method posix.sched_yield>"}:
            group = "polling and waiting"
        spent[group] += own_s
    total: Counter[str] = Counter()
    for one in world.allgather(dict(spent)):
        total.update(one)
    return {group: seconds / sum(total.values()) for group, seconds in total.most_common()}


def pace(world: MPI.Intracomm, rails: int) -> float:
    """Measured over predicted time between nodes on paced rails: how faithful virtual rails are."""
    nodes = world.size // rails
    with r2cc_mpi.Communicator(world, rails=rails, rail_rate=PACED_RATE) as comm:
        data = np.ones(PACED_BYTES // 4, np.float32)
        times = []
        for _ in range(4):
            comm.Allreduce(MPI.IN_PLACE, data)
            assert comm.last_report is not None
            times.append(comm.last_report.network_s)
        network_s = slowest_median(world, times[1:])
    model_s = cost_model.seconds(cost_model.ring(nodes), PACED_BYTES, PACED_RATE * rails)
    return network_s / model_s


def main() -> None:
    """Measure one layout; rank 0 prints a JSON object."""
    world = MPI.COMM_WORLD
    rails, sizes = int(sys.argv[1]), [int(size) for size in sys.argv[2].split(",")]
    rows = compare(world, rails, sizes)
    result = {
        "rows": rows,
        "latency": break_down(world, rails, size=8),
        "profiles": {str(size): profile(world, rails, size) for size in PROFILED_BYTES},
        "paced": pace(world, rails),
    }
    if world.rank == 0:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
