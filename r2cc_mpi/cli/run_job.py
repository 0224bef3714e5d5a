"""`r2cc run` on every rank of the job: create the communicator, iterate, gather, judge, print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from algorithms.nic import Hop, Nic
from r2cc_mpi.cli.arrays import save_result
from r2cc_mpi.cli.assemble import (
    Known,
    Moved,
    RankRecord,
    affected_nodes,
    iteration_records,
    size_records,
    verdict,
)
from r2cc_mpi.cli.options import RunOptions
from r2cc_mpi.cli.report import RailBytes, Report, Verdict
from r2cc_mpi.cli.report_json import to_json, write_json
from r2cc_mpi.cli.tables import failover_lines, footer, header, iteration_table, row, verdict_line
from r2cc_mpi.communicator import Communicator
from r2cc_mpi.errors import IncompleteCollectiveError, R2ccError, UsageError
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.faults import Declared, FaultKind
from r2cc_mpi.gathering import all_gather
from r2cc_mpi.job import Iteration, Job, OwnData, Pattern
from r2cc_mpi.strategy import stripes_of


def run(options: RunOptions) -> int:
    """Run the job on this rank.

    Args:
        options: What to do; the same on every rank.

    Returns:
        The exit status, the same on every rank.

    Raises:
        R2ccError: The job could not be set up; every rank raises alike.
    """
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    if world.size != options.layout.ranks:
        raise UsageError(
            f"{options.layout} needs {options.layout.ranks} ranks, but {world.size} were started"
        )

    comm = Communicator(
        world,
        nodes=options.layout.nodes,
        rails=options.layout.rails,
        rail_rate=options.rail_rate_bytes_per_s,
        strategy=options.strategy,
        isolation_timeout=options.isolation_timeout_s,
        failed=_declared(options),
    )
    if world.rank == 0:
        _print(options, _about(options))
    agreed: int | None = None
    try:
        with comm:
            agreed = _measure(comm, options)
    except IncompleteCollectiveError as error:
        if agreed is None:  # else the verdict is out, and what could not complete is only the end
            agreed = error.exit_code
            ended = Verdict(error.exit_code, str(error))
            if world.rank == 0:
                _print(options, [verdict_line(ended)])
                _write_failure(options, ended)
    return agreed


def _measure(comm: Communicator, options: RunOptions) -> int:
    faults = FaultRunner(comm, options.faults)
    iterations: list[Iteration] = []
    for count in options.counts:
        job = _job(comm, faults, options, count)
        job.warm_up(options.warmup_iterations)
        # In a run with failures an iteration is one instant in a story; to repeat them all in place would
        # tell another one.
        for in_place in [False] if options.faults else [False, True]:
            for number in range(1, options.iterations + 1):
                corrupt = options.corrupt == number and not in_place and comm.layout.rank_of(comm.nic) == 0
                iterations.append(
                    job.iterate(number, in_place=in_place, check=options.check, corrupt=corrupt)
                )
    if options.output is not None:
        _do_together(comm, lambda: _save(comm, options, job))
    comm.settle()
    ranks = [_read(record) for record in all_gather(comm, _record(comm, faults, iterations))]
    records = iteration_records(options, ranks)
    sizes = size_records(options, records)
    ended = verdict(options, records, ranks)
    if comm.layout.rank_of(comm.nic) == 0:
        lines = [*header(), *(row(size) for size in sizes), *footer(sizes)]
        if options.faults:
            lines += iteration_table(
                records, affected_nodes(options.layout, records, {fault.nic for fault in options.faults})
            )
            lines += failover_lines(records)
        _print(options, [*lines, verdict_line(ended)])
    report = Report(options.layout.nodes, options.layout.rails, tuple(sizes), tuple(records), ended)
    if options.json is not None:
        _do_together(comm, lambda: _write(comm.layout.rank_of(comm.nic), options, report))
    return ended.exit_code


def _declared(options: RunOptions) -> list[Nic]:
    return [f.nic for f in options.faults if f.kind is FaultKind.FAIL and isinstance(f.trigger, Declared)]


def _job(comm: Communicator, faults: FaultRunner, options: RunOptions, count: int) -> Job:
    dtype = options.datatype.dtype
    rank, ranks = comm.layout.rank_of(comm.nic), comm.layout.ranks
    data: Pattern | OwnData
    if options.input is None:
        data = Pattern(count, dtype, rank, ranks)
    else:
        arrays = options.input
        data = OwnData(
            arrays.load(rank).reshape(-1), (arrays.load(other).reshape(-1) for other in range(ranks))
        )
    share = stripes_of(comm.layout.nodes, comm.layout.rails).rail_loads()[comm.nic][0]
    expected_bytes = int(share * count * dtype.itemsize)
    return Job(comm, faults, data, count=count, dtype=dtype, expected_bytes=expected_bytes)


def _save(comm: Communicator, options: RunOptions, job: Job) -> None:
    assert options.output is not None
    assert options.input is not None
    save_result(options.output, comm.layout.rank_of(comm.nic), job.result.reshape(options.input.shape))


def _do_together(comm: Communicator, write: Callable[[], None]) -> None:
    """Let every rank write something; one that cannot tells all others, so that every rank fails alike."""
    problem = ""
    try:
        write()
    except R2ccError as error:
        problem = str(error)
    problems = [text for text in all_gather(comm, problem) if text]
    if problems:
        comm.close()
        raise UsageError(problems[0])


def _record(comm: Communicator, faults: FaultRunner, iterations: list[Iteration]) -> dict[str, Any]:
    carried = comm.counters.by_collective
    return {
        "iterations": [asdict(one) for one in iterations],
        "bytes": [carried.get(one.collective, [0, 0]) for one in iterations],
        "moved": [[f.nic, f.source, f.at, f.resent_bytes, f.route] for f in comm.failovers],
        "known": [[d.nic, d.at, d.cause] for d in comm.detections if d.version % 2],
        "fired": [
            [event.fault.nic, event.at] for event in faults.events if event.fault.kind is FaultKind.FAIL
        ],
        "missed": [fault.option for fault in faults.missed],
    }


def _read(record: dict[str, Any]) -> RankRecord:
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
    )


def _about(options: RunOptions) -> list[str]:
    rate = options.rail_rate_bytes_per_s
    pace = "unpaced" if rate is None else f"{rate / 1e6:g} MB/s each way"
    return [
        f"# r2cc {options.collective}: {options.layout} ({options.layout.ranks} ranks)",
        f"# virtual rails, {pace}; strategy {options.strategy}",
        *(
            f"# fault: {fault.option}{' (silent)' if fault.silent else ''}{' (late)' if fault.late else ''}"
            for fault in options.faults
        ),
    ]


def _write_failure(options: RunOptions, ended: Verdict) -> None:
    """Write the report of a job that failed; if that fails too, the status stays that of the job."""
    try:
        _write(0, options, Report(options.layout.nodes, options.layout.rails, (), (), ended))
    except R2ccError as error:
        print(f"r2cc: error: {error}", file=sys.stderr, flush=True)


def _write(rank: int, options: RunOptions, report: Report) -> None:
    if rank == 0 and options.json is not None:
        write_json(to_json(report), options.json)


def _print(options: RunOptions, lines: list[str]) -> None:
    """Print for people; beside JSON on standard output they read standard error."""
    stream = sys.stderr if options.json == "-" else sys.stdout
    print("\n".join(lines), file=stream, flush=True)
