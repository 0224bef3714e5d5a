"""What `r2cc run` prints: nccl-tests' table, a table of iterations for runs with failures, and the verdict.

Pure functions from records to text; the job fills the records. Times are seconds and sizes bytes until they
are printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from algorithms.nic import Nic
from r2cc_mpi.cli.description import Description
from r2cc_mpi.cli.iteration_statistics import IterationStatistics


@dataclass(frozen=True)
class RailBytes:
    """What a NIC carried.

    Attributes:
        tx: Bytes sent.
        rx: Bytes received.
    """

    tx: int
    rx: int


@dataclass(frozen=True)
class FailoverRecord:
    """A NIC was lost and its traffic moved.

    Attributes:
        node: The node that lost it.
        rail: Its rail.
        cause: How it became known, in a few words.
        detected_s: Seconds from the failure until both ends knew and had moved their channels, or None if the
            moment of the failure is not known.
        resent_bytes: Bytes that were sent again because they had not landed.
        path: The route taken instead.
        known_at: When both ends knew and had moved their channels, in seconds since the epoch.
    """

    node: int
    rail: int
    cause: str
    detected_s: float | None
    resent_bytes: int
    path: str
    known_at: float | None = None


@dataclass(frozen=True)
class IterationRecord:
    """One timed iteration.

    Attributes:
        time_s: Seconds that the call took on the slowest rank.
        network_s: Seconds of it between nodes.
        strategy: The strategy in force when it ended.
        predicted_s: What the cost model says for `network_s`, or None if rails are not paced.
        wrong: Wrong elements on all ranks, or None if they were not checked.
        rail_bytes: What each NIC carried.
        failovers: What was lost and repaired meanwhile.
        bound_s: What no strategy could beat, or None if not known.
        kernel_bytes: What the kernel counted at each NIC that is an interface, with all headers, until the
            next iteration began.
    """

    time_s: float
    network_s: float
    strategy: str
    predicted_s: float | None
    wrong: int | None
    rail_bytes: Mapping[Nic, RailBytes]
    failovers: tuple[FailoverRecord, ...] = ()
    bound_s: float | None = None
    kernel_bytes: Mapping[Nic, RailBytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """All iterations of one size, in place or out of place.

    Attributes:
        time_s: Mean seconds of a call, over ranks as `-a` says.
        wrong: Wrong elements of all iterations on all ranks, or None if they were not checked.
        process_times_s: Per rank, the seconds of each iteration.
        skipped: First iterations that the statistics leave out.
    """

    time_s: float
    wrong: int | None
    process_times_s: tuple[tuple[float, ...], ...] = ()
    skipped: int = 0

    @property
    def times_s(self) -> tuple[float, ...]:
        """Seconds of each iteration on the slowest rank."""
        return tuple(max(times) for times in zip(*self.process_times_s, strict=True))

    @property
    def statistics(self) -> IterationStatistics:
        """How those are spread, without the skipped ones."""
        return IterationStatistics.of(self.times_s[self.skipped :])


@dataclass(frozen=True)
class SizeRecord:
    """One row of the table.

    Attributes:
        size_bytes: Bytes of one rank's array.
        count: Its elements.
        datatype: nccl-tests' name of their type.
        ranks: Number of ranks, which turns algorithm bandwidth into bus bandwidth.
        out_of_place: Measured with two arrays, or None if not measured.
        in_place: Measured with one array, or None if not measured.
        op: The reduction.
        cycle: Which run over all sizes it is from, from 1.
        finished_at: When it was done, in seconds since the epoch, or None if not known.
    """

    size_bytes: int
    count: int
    datatype: str
    ranks: int
    out_of_place: Measurement | None
    in_place: Measurement | None
    op: str = "sum"
    cycle: int = 1
    finished_at: float | None = None

    @property
    def placings(self) -> tuple[tuple[str, Measurement | None], ...]:
        """The two measurements under nccl-tests' names."""
        return ("out_of_place", self.out_of_place), ("in_place", self.in_place)


@dataclass(frozen=True)
class Verdict:
    """How a run ended.

    Attributes:
        exit_code: Exit status of every rank; 0 is a pass.
        reason: One line: what was checked, or what went wrong.
    """

    exit_code: int
    reason: str

    @property
    def word(self) -> str:
        """PASS or FAIL."""
        return "FAIL" if self.exit_code else "PASS"


@dataclass(frozen=True)
class Report:
    """Everything there is to say about a run.

    Attributes:
        description: The job.
        nodes: Nodes of the layout.
        rails: Rails of the layout.
        sizes: The rows, in the order they ran.
        iterations: Timed iterations of all sizes, in the order they ran.
        verdict: How it ended.
        dropped_chunks: Chunks that relays had no room for, and that were sent again, in the whole job.
    """

    description: Description
    nodes: int
    rails: int
    sizes: tuple[SizeRecord, ...]
    iterations: tuple[IterationRecord, ...]
    verdict: Verdict
    dropped_chunks: int = 0


def algorithm_bandwidth(size_bytes: int, time_s: float) -> float:
    """Give bytes of one rank's array per second, as nccl-tests' performance page defines it."""
    return size_bytes / time_s if time_s > 0 else 0.0


def bus_bandwidth(size_bytes: int, time_s: float, ranks: int) -> float:
    """Give an AllReduce's bytes per second on each link: 2 (n - 1) / n of the algorithm bandwidth."""
    return algorithm_bandwidth(size_bytes, time_s) * 2 * (ranks - 1) / ranks


def average_bus_bandwidth(sizes: Iterable[SizeRecord]) -> float:
    """Give the mean bus bandwidth, in bytes per second, of all measurements; 0 if there are none."""
    bandwidths = [
        bus_bandwidth(row.size_bytes, one.time_s, row.ranks)
        for row in sizes
        for _, one in row.placings
        if one is not None
    ]
    return sum(bandwidths) / len(bandwidths) if bandwidths else 0.0


def wrong_elements(sizes: Sequence[SizeRecord]) -> int:
    """Count the wrong elements of all measurements that were checked."""
    return sum(one.wrong or 0 for row in sizes for _, one in row.placings if one is not None)
