"""`r2cc run` on every rank of the job: create the communicator, iterate, gather, judge, print."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from algorithms.nic import Nic
from r2cc_mpi.cli.arrays import save_result
from r2cc_mpi.cli.assemble import affected_nodes, iteration_records, verdict
from r2cc_mpi.cli.description import Description, Device, reported_environment
from r2cc_mpi.cli.files import write_text
from r2cc_mpi.cli.live_table import LiveTable
from r2cc_mpi.cli.options import RunOptions
from r2cc_mpi.cli.preamble import device_info, layout_lines, preamble
from r2cc_mpi.cli.report import IterationRecord, Report, Verdict
from r2cc_mpi.cli.report_csv import to_csv
from r2cc_mpi.cli.report_json import to_json, write_json
from r2cc_mpi.cli.size_table import footer
from r2cc_mpi.cli.tables import failover_lines, iteration_table, verdict_line
from r2cc_mpi.cli.version import installed_version
from r2cc_mpi.communicator import Communicator
from r2cc_mpi.errors import IncompleteCollectiveError, R2ccError, UsageError
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.faults import Declared, FaultKind
from r2cc_mpi.gathering import all_gather
from r2cc_mpi.job import Data, Iteration, Job, Work
from r2cc_mpi.own_data import OwnData
from r2cc_mpi.patterns import Pattern
from r2cc_mpi.planning import choose
from r2cc_mpi.time_limit import TimeLimit

if TYPE_CHECKING:
    from mpi4py import MPI


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
        ranks_per_node=options.layout.ranks_per_node,
        interfaces=options.interfaces,
        rail_rate=options.rail_rate_bytes_per_s,
        strategy=options.strategy,
        pieces=options.wishes.pieces,
        partial=options.wishes.partial,
        form=options.wishes.form,
        slow=dict(options.wishes.slow),
        isolation_timeout=options.isolation_timeout_s,
        failed=_declared(options),
    )
    options = options.at_rate(comm.rail_rate)
    job = _describe(options, world)
    if world.rank == 0:
        _print(options, [*preamble(job), *layout_lines(options)])
    agreed: int | None = None
    table = LiveTable(options, lambda lines: _print(options, lines) if world.rank == 0 else None)
    try:
        with comm:
            agreed = _measure(comm, options, job, table)
    except IncompleteCollectiveError as error:
        if agreed is None:  # else the verdict is out, and what could not complete is only the end
            agreed = error.exit_code
            ended = Verdict(error.exit_code, str(error))
            if world.rank == 0:
                _print(options, [verdict_line(ended)])
                _write_failure(options, job, table, ended)
    return agreed


def _describe(options: RunOptions, world: MPI.Intracomm) -> Description:
    """Gather who runs the job, while all networks are still there."""
    people = world.allgather((os.getpid(), socket.gethostname()))
    nics = map(options.layout.nic_of, range(world.size))
    return Description(
        options.collective,
        installed_version(),
        options.sweep,
        options.method,
        tuple(
            Device(rank, nic, pid, host, device_info(options, nic))
            for rank, (nic, (pid, host)) in enumerate(zip(nics, people, strict=True))
        ),
        time.time(),
        tuple(sys.argv),
        reported_environment(os.environ),
    )


def _measure(comm: Communicator, options: RunOptions, job: Description, table: LiveTable) -> int:
    faults = FaultRunner(comm, options.faults)
    limit = TimeLimit(comm, options.method.time_limit_s)
    table.begin()
    for count in options.counts * options.method.cycles:
        work = _job(comm, faults, limit, options, count)
        table.add(comm, faults, _iterate(comm, options, work))
    if options.output is not None:
        _do_together(comm, lambda: _save(comm, options, work))
    ranks = table.ranks
    records = iteration_records(options, ranks)
    ended = verdict(options, records, ranks)
    report = _report(options, job, table, records, ended)
    rank = comm.layout.rank_of(comm.nic)
    if rank == 0:
        _print(options, _lines(options, report))
    if options.json is not None or options.csv is not None:
        _do_together(comm, lambda: _write(rank, options, report))
    return ended.exit_code


def _report(
    options: RunOptions,
    job: Description,
    table: LiveTable,
    iterations: Sequence[IterationRecord],
    ended: Verdict,
) -> Report:
    nodes, rails = options.layout.nodes, options.layout.rails
    sizes, dropped = tuple(table.sizes), sum(rank.dropped_chunks for rank in table.ranks)
    return Report(job, nodes, rails, sizes, tuple(iterations), ended, dropped)


def _iterate(comm: Communicator, options: RunOptions, work: Job) -> list[Iteration]:
    """Run all iterations of one size."""
    method = options.method
    work.warm_up(method.warmup_iterations)
    placings = [False] if options.is_story else [False, True]
    is_first = comm.layout.rank_of(comm.nic) == 0
    return [
        work.iterate(
            number,
            in_place=in_place,
            check=method.check,
            corrupt=options.corrupt == number and not in_place and is_first,
        )
        for in_place in placings
        for number in range(1, method.iterations + 1)
    ]


def _lines(options: RunOptions, report: Report) -> list[str]:
    """Write what follows the rows: the other table, and the verdict."""
    lines = footer(report.sizes, options.collective)
    if options.is_story or any(one.failovers for one in report.iterations):
        named = {fault.nic for fault in options.faults}
        lines += iteration_table(report.iterations, affected_nodes(options.layout, report.iterations, named))
        lines += failover_lines(report.iterations)
    return [*lines, verdict_line(report.verdict)]


def _declared(options: RunOptions) -> list[Nic]:
    return [f.nic for f in options.faults if f.kind is FaultKind.FAIL and isinstance(f.trigger, Declared)]


def _job(comm: Communicator, faults: FaultRunner, limit: TimeLimit, options: RunOptions, count: int) -> Job:
    dtype, reduction = options.datatype.dtype, options.reduction
    rank, ranks = comm.layout.rank_of(comm.nic), comm.layout.ranks
    data: Data
    if options.input is None:
        data = Pattern(dtype, rank, ranks, reduction)
    else:
        arrays = options.input
        everyone = (arrays.load(other).reshape(-1) for other in range(ranks))
        data = OwnData(arrays.load(rank).reshape(-1), everyone, reduction)
    size_bytes = count * dtype.itemsize
    planned = choose(
        comm.layout.nodes, comm.layout.rails, options.wishes, tuple(sorted(_declared(options))), size_bytes
    )
    expected_bytes = int(planned.stripes.rail_loads().get(comm.nic, (0, 0))[0] * size_bytes)
    work = Work(count, dtype, reduction, options.method.calls, options.method.persistent)
    return Job(comm, faults, limit, data, work, expected_bytes)


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


def _write_failure(options: RunOptions, job: Description, table: LiveTable, ended: Verdict) -> None:
    """Write the report of a job that failed; if that fails too, the status stays that of the job."""
    try:
        _write(0, options, _report(options, job, table, (), ended))
    except R2ccError as error:
        print(f"r2cc: error: {error}", file=sys.stderr, flush=True)


def _write(rank: int, options: RunOptions, report: Report) -> None:
    if rank != 0:
        return
    if options.json is not None:
        write_json(to_json(report, time.time()), options.json)
    if options.csv is not None:
        write_text("--csv", options.csv, to_csv(report))


def _print(options: RunOptions, lines: list[str]) -> None:
    """Print for people; beside a report on standard output they read standard error."""
    stream = sys.stderr if "-" in {options.json, options.csv} else sys.stdout
    print("\n".join(lines), file=stream, flush=True)
