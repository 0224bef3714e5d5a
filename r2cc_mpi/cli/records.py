"""What a rank sends to the others when all iterations of a size are done, and reading it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from algorithms.nic import Hop, Nic
from r2cc_mpi.cli.assemble import Known, Moved, RankRecord
from r2cc_mpi.cli.report import RailBytes
from r2cc_mpi.communicator import Communicator
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.faults import FaultKind
from r2cc_mpi.job import Iteration
from r2cc_mpi.time_of_day import time_of_day


def pack_record(
    comm: Communicator,
    faults: FaultRunner,
    iterations: Sequence[Iteration],
    finished_at: float,
    *,
    calls: int,
) -> dict[str, Any]:
    """Write what this rank has seen as something that JSON can carry.

    Args:
        comm: The communicator.
        faults: What happened to this rank's rail.
        iterations: Its iterations of this size.
        finished_at: When it was through with them, in seconds since the epoch.
        calls: Collectives of an iteration.
    """
    return {
        "iterations": [asdict(replace(one, ended_at=time_of_day(one.ended_at))) for one in iterations],
        "bytes": [_carried(comm, one, calls) for one in iterations],
        "kernel": _kernel(comm, iterations),
        "moved": [[f.nic, f.source, time_of_day(f.at), f.resent_bytes, f.route] for f in comm.failovers],
        "known": [[d.nic, time_of_day(d.at), d.cause] for d in comm.detections if d.version % 2],
        "fired": [
            [event.fault.nic, time_of_day(event.at)]
            for event in faults.events
            if event.fault.kind is FaultKind.FAIL and not event.objection
        ],
        "missed": faults.missed,
        "dropped_chunks": comm.dropped_chunks,
        "finished_at": finished_at,
    }


def _carried(comm: Communicator, one: Iteration, calls: int) -> list[int]:
    numbers = range(one.collective, one.collective + calls)
    parts = [comm.counters.by_collective.get(number, [0, 0]) for number in numbers]
    return [sum(part[way] for part in parts) for way in (0, 1)]


def _kernel(comm: Communicator, iterations: Sequence[Iteration]) -> list[list[int]]:
    """Give what the interface carried from the beginning of each iteration to that of the next.

    Chunks that a rank has sent may still wait in the kernel when its iteration ends. The last one ends here,
    when all chunks have been consumed.
    """
    now = comm.kernel_bytes()
    readings = [one.kernel for one in iterations]
    if now is None:
        return []
    return [
        [after - before for before, after in zip(begin, end, strict=True)]
        for begin, end in zip(readings, [*readings[1:], list(now)], strict=True)
        if begin is not None and end is not None
    ]


def read_record(record: dict[str, Any]) -> RankRecord:
    """Read what another rank has sent."""
    return RankRecord(
        tuple(Iteration(**one) for one in record["iterations"]),
        tuple(RailBytes(*both) for both in record["bytes"]),
        tuple(
            Moved(Nic(*nic), source, at, resent, tuple(Hop(*hop) for hop in route) if route else None)
            for nic, source, at, resent, route in record["moved"]
        ),
        tuple(Known(Nic(*nic), at, cause) for nic, at, cause in record["known"]),
        tuple((Nic(*nic), at) for nic, at in record["fired"]),
        tuple(record["missed"]),
        record["dropped_chunks"],
        record["finished_at"],
        tuple(RailBytes(*both) for both in record["kernel"]),
    )
