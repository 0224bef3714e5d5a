"""From what each rank measured to the report of the job. Pure: records in, records out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from algorithms.nic import Hop, Nic, describe_route
from r2cc_mpi.cli.method import Average
from r2cc_mpi.cli.options import RunOptions
from r2cc_mpi.cli.predictions import Prediction, predict
from r2cc_mpi.cli.report import (
    FailoverRecord,
    IterationRecord,
    Measurement,
    RailBytes,
    SizeRecord,
    Verdict,
)
from r2cc_mpi.job import Iteration
from r2cc_mpi.layout import Layout


@dataclass(frozen=True)
class Moved:
    """A channel that was repaired, seen by its sender: :class:`r2cc_mpi.protocol.hot_repair.Failover`."""

    nic: Nic
    source: int
    at: float
    resent_bytes: int
    route: tuple[Hop, ...] | None


@dataclass(frozen=True)
class Known:
    """A NIC that a rank learned to be down, when and how."""

    nic: Nic
    at: float
    cause: str


@dataclass(frozen=True)
class RankRecord:
    """What one rank reports.

    Attributes:
        iterations: Its timed iterations, those of one size and placing in a row; of one size, or of all.
        rail_bytes: Per iteration, what its NIC sent and received.
        moved: Its channels that were repaired.
        known: NICs it learned to be down.
        fired: When the faults of its own rail happened, as (NIC, time).
        missed: Faults of its own rail that hit no running iteration, each with the reason.
        dropped_chunks: Chunks that it was to pass on and had no room for.
        finished_at: When it was through with the last of them, in seconds since the epoch.
        kernel_bytes: Per iteration, what the kernel counted at its interface; nothing for a virtual rail.
    """

    iterations: tuple[Iteration, ...]
    rail_bytes: tuple[RailBytes, ...]
    moved: tuple[Moved, ...]
    known: tuple[Known, ...]
    fired: tuple[tuple[Nic, float], ...]
    missed: tuple[str, ...]
    dropped_chunks: int = 0
    finished_at: float | None = None
    kernel_bytes: tuple[RailBytes, ...] = ()


def joined(parts: Sequence[Sequence[RankRecord]]) -> list[RankRecord]:
    """Put together what the ranks reported size by size; about failures the last part knows all."""
    return [
        replace(
            views[-1],
            iterations=tuple(one for view in views for one in view.iterations),
            rail_bytes=tuple(one for view in views for one in view.rail_bytes),
            kernel_bytes=tuple(one for view in views for one in view.kernel_bytes),
        )
        for views in zip(*parts, strict=True)
    ]


def iteration_records(options: RunOptions, ranks: Sequence[RankRecord]) -> list[IterationRecord]:
    """Combine the ranks' views of each timed iteration.

    An iteration in which a channel was repaired has no prediction: part of it ran before, part after.
    """
    size_of = [count * options.datatype.dtype.itemsize for count in options.counts * options.method.cycles]
    per_size = len(ranks[0].iterations) // len(size_of)
    records: list[IterationRecord] = []
    since = float("-inf")
    for index in range(len(ranks[0].iterations)):
        views = [rank.iterations[index] for rank in ranks]
        until = max(view.ended_at for view in views)
        if index + 1 == len(ranks[0].iterations):
            until = float("inf")
        down = {(node, rail) for view in views for node, rail in view.down}
        nics = [Nic(*pair) for pair in sorted(down)]
        failovers = tuple(_failovers(ranks, since, until))
        wrong = [view.wrong for view in views if view.wrong is not None]
        expected = Prediction()
        if not failovers:
            expected = predict(
                options.layout,
                options.wishes,
                views[0].strategy,
                nics,
                options.faults,
                size_bytes=size_of[index // per_size],
                planned_without=_nics(views[0].planned_without),
            )
        records.append(
            IterationRecord(
                time_s=max(view.time_s for view in views),
                network_s=max(view.network_s for view in views),
                strategy=max(views, key=lambda view: view.ended_at).strategy,
                predicted_s=expected.predicted_s,
                wrong=sum(wrong) if wrong else None,
                rail_bytes={
                    nic: ranks[options.layout.rank_of(nic)].rail_bytes[index] for nic in options.layout
                },
                failovers=failovers,
                bound_s=expected.bound_s,
                kernel_bytes={
                    nic: counted[index]
                    for nic in options.layout
                    if (counted := ranks[options.layout.rank_of(nic)].kernel_bytes)
                },
            )
        )
        since = until
    return records


def _nics(pairs: list[list[int]] | None) -> list[Nic] | None:
    return None if pairs is None else [Nic(*pair) for pair in pairs]


def _failovers(ranks: Sequence[RankRecord], since: float, until: float) -> list[FailoverRecord]:
    moved = [move for rank in ranks for move in rank.moved if since < move.at <= until]
    records = []
    for nic in sorted({move.nic for move in moved}):
        moves = [move for move in moved if move.nic == nic]
        fired = [at for rank in ranks for fault_nic, at in rank.fired if fault_nic == nic]
        failed_at = max((at for at in fired if at <= max(move.at for move in moves)), default=None)
        known = [k for rank in ranks for k in rank.known if k.nic == nic and since < k.at <= until]
        # News comes from somewhere, though a rank that was not running for a moment may date it too early. A
        # rank that learned of failure and return at once has moved its channels all the same.
        origins = [k for k in known if k.cause != "news"] or known
        first = min(origins, key=lambda k: k.at, default=Known(nic, moves[0].at, "news"))
        both_ends_at = max([move.at for move in moves] + [first.at])
        paths = [
            describe_route(move.source, move.route) if move.route else f"node {move.source} has none"
            for move in moves
        ]
        records.append(
            FailoverRecord(
                nic.node,
                nic.rail,
                {"event": "announced", "probe": "stalled, probed"}.get(first.cause, first.cause),
                None if failed_at is None else both_ends_at - failed_at,
                sum(move.resent_bytes for move in moves),
                "; ".join(sorted(set(paths))),
                both_ends_at,
            )
        )
    return records


def size_record(options: RunOptions, index: int, ranks: Sequence[RankRecord]) -> SizeRecord:
    """Combine the iterations of one size into its row of the table.

    Args:
        options: The job.
        index: Which row, from 0; the sizes of the first cycle come first.
        ranks: What the ranks report of this size alone.
    """
    count = options.counts[index % len(options.counts)]
    per_placing = options.method.iterations
    measured: list[Measurement | None] = [
        _measurement(options, ranks, slice(begin, begin + per_placing))
        for begin in range(0, len(ranks[0].iterations), per_placing)
    ]
    out_of_place, in_place = (*measured, None)[:2]
    return SizeRecord(
        count * options.datatype.dtype.itemsize,
        count,
        options.datatype.name,
        options.layout.ranks,
        out_of_place,
        in_place,
        options.reduction.label,
        cycle=1 + index // len(options.counts),
        finished_at=ranks[0].finished_at,
    )


def _measurement(options: RunOptions, ranks: Sequence[RankRecord], part: slice) -> Measurement:
    views = [rank.iterations[part] for rank in ranks]
    process_times_s = tuple(tuple(one.time_s for one in view) for view in views)
    means = [fmean(times) for times in process_times_s]
    reported = {
        Average.FIRST: means[0],
        Average.MEAN: fmean(means),
        Average.SHORTEST: min(means),
        Average.LONGEST: max(means),
    }
    wrong = [one.wrong for view in views for one in view if one.wrong is not None]
    return Measurement(
        reported[options.method.average],
        sum(wrong) if wrong else None,
        process_times_s,
        options.method.skipped,
    )


def verdict(
    options: RunOptions, iterations: Sequence[IterationRecord], ranks: Sequence[RankRecord]
) -> Verdict:
    """Judge a job that came to its end."""
    wrong = sum(one.wrong or 0 for one in iterations)
    if wrong:
        bad = [str(number) for number, one in enumerate(iterations, 1) if one.wrong]
        return Verdict(2, f"{wrong} wrong elements, in iteration {', '.join(bad)}")
    missed = [text for rank in ranks for text in rank.missed]
    if missed:
        return Verdict(3, f"{'; '.join(missed)}; so the run proves nothing about it")
    checked = "every element exact on every rank"
    if options.input is not None and options.datatype.dtype.kind == "f":
        checked = f"every element on every rank equal to NumPy's {options.reduction.label} but for rounding"
    if not options.method.check:
        checked = "results not checked (-c 0)"
    failures = sum(len(one.failovers) for one in iterations)
    repaired = f", {failures} failure{'s' if failures != 1 else ''} repaired in flight" if failures else ""
    return Verdict(0, f"{len(iterations)} iterations, {checked}{repaired}")


def affected_nodes(layout: Layout, iterations: Sequence[IterationRecord], named: Iterable[Nic]) -> list[Nic]:
    """List the NICs of all nodes that lost one or whose NIC a fault names, for the table."""
    nodes = {record.node for one in iterations for record in one.failovers}
    nodes |= {nic.node for nic in named}
    return [nic for nic in layout if nic.node in nodes]
