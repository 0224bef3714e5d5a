"""Run jobs on paced rails and compare: measured time between nodes, simulated time, closed form.

The simulator plays the stripes that the ranks plan, cut into the chunks that they send, on NICs of the rates
that they are paced to, with alpha = 0: it is given nothing that was measured. `queueing` is the simulation of
`analysis.simulation.executor`, whose ports queue as those of ranks do; it has no detours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import nearly_chunked
from analysis.simulation.executor import executed_time
from analysis.simulator import simulate
from r2cc_mpi.planning import Wishes, choose, chunking_for, slow_from_the_start
from r2cc_mpi.strategy import Strategy
from scripts.paced_jobs import run_job

MIB = 1 << 20


@dataclass(frozen=True)
class Row:
    """One job.

    Attributes:
        nodes: Its nodes.
        rails: Rails of each node.
        strategy: Of `r2cc run`.
        dead: NICs that are dead from the start.
        slow: NICs that are slow from the start, and at which fraction of their rate.
        pieces: K, or None.
        form: Of the strategy, or None.
        size_mib: Of one rank's array.
        rate_mb_per_s: Of a rail in each direction.
    """

    nodes: int
    rails: int
    strategy: str
    dead: tuple[Nic, ...] = ()
    slow: tuple[tuple[Nic, Fraction], ...] = ()
    pieces: int | None = None
    form: str | None = None
    size_mib: int = 24
    rate_mb_per_s: int = 20

    @property
    def label(self) -> str:
        """What a reader sees."""
        parts = [f"{self.nodes}x{self.rails} {self.strategy}", self.form, self.pieces and f"K={self.pieces}"]
        parts += [f"fail {nic.node}:{nic.rail}" for nic in self.dead]
        parts += [f"slow {nic.node}:{nic.rail}={float(factor):g}" for nic, factor in self.slow]
        return " ".join(part for part in parts if part)

    @property
    def words(self) -> list[str]:
        """Options of `r2cc run`."""
        named = {
            "--nodes": self.nodes,
            "--rails": self.rails,
            "-b": f"{self.size_mib}M",
            "--rail-rate": f"{self.rate_mb_per_s}MB/s",
            "--strategy": self.strategy,
            "--pieces": self.pieces,
            "--form": self.form,
        }
        words = [str(word) for option in named.items() if option[1] is not None for word in option]
        words += [word for nic in self.dead for word in ("--fail", f"{nic.node}:{nic.rail}")]
        for nic, factor in self.slow:
            words += ["--slow", f"{nic.node}:{nic.rail}={float(factor):g}"]
        return words


ROWS = (
    Row(3, 3, "ring"),
    Row(2, 2, "ring"),
    Row(3, 2, "hot-repair", dead=(Nic(1, 0),)),
    Row(3, 3, "balance", dead=(Nic(1, 1),)),
    Row(3, 3, "balance", slow=((Nic(1, 1), Fraction(1, 2)),)),
    Row(4, 2, "r2cc-allreduce", dead=(Nic(1, 1),), pieces=8),
    Row(3, 3, "optcc", dead=(Nic(1, 1),), pieces=8, form="simple"),
    Row(5, 2, "optcc", dead=(Nic(1, 1),), pieces=8, form="simple", rate_mb_per_s=10, size_mib=16),
)


@dataclass(frozen=True)
class Outcome:
    """Seconds: measured between nodes, simulated, with queueing ports (None: a detour), by the formula."""

    measured: float
    simulated: float
    queueing: float | None
    formula: float

    @property
    def off(self) -> float:
        """How much longer the run took than the simulation, as a share of it."""
        return self.measured / self.simulated - 1


def play(row: Row) -> tuple[Fraction, Fraction | None]:
    """Simulate a row; the times, the second one with queueing ports, in D/B."""
    rates = RailRates.of(row.nodes, row.rails, row.dead, dict(row.slow))
    chunking = chunking_for(Fraction(row.rate_mb_per_s * 10**6), row.size_mib * MIB)
    chunks = nearly_chunked(planned(row), chunking.size)
    try:
        queueing = executed_time(chunks, rates)
    except ScheduleError:
        queueing = None
    return simulate(chunks, rates).completion, queueing


def planned(row: Row) -> Stripes:
    """Plan as the ranks do; HotRepair's routes are the protocol's business there."""
    wishes = Wishes(
        Strategy.parse(row.strategy),
        row.pieces,
        form=row.form,
        rail_bytes_per_s=Fraction(row.rate_mb_per_s * 10**6),
        slow=slow_from_the_start(dict(row.slow)),
    )
    stripes = choose(row.nodes, row.rails, wishes, row.dead, row.size_mib * MIB).stripes
    if row.strategy == "hot-repair":
        return hot_repair_mapping(stripes.schedule, row.rails, row.dead)
    return stripes


def compare(row: Row, iterations: int) -> Outcome:
    """Run and simulate a row; the run's median iteration counts."""
    unit_s = row.size_mib * MIB / (row.rails * row.rate_mb_per_s * 1e6)
    simulated, queueing = play(row)
    found = run_job(*row.words, "-n", str(iterations))
    return Outcome(
        median(one["network_s"] for one in found),
        float(simulated) * unit_s,
        None if queueing is None else float(queueing) * unit_s,
        found[-1]["predicted_s"],
    )


def report(rows: Sequence[tuple[Row, Outcome]], limit: float) -> int:
    """Print a table; return 1 if a run is further from its simulation than the limit, else 0."""
    titles = ("measured", "simulated", "ratio", "queueing", "ratio", "formula", "ratio")
    print("# {:<36} {:>9} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7}".format("ms", *titles))
    beyond = []
    for row, one in rows:
        columns = f"{one.measured * 1e3:9.1f}"
        for model in (one.simulated, one.queueing, one.formula):
            columns += (
                f" {'-':>9} {'-':>7}" if model is None else f" {model * 1e3:9.1f} {one.measured / model:7.4f}"
            )
        print(f"  {row.label:<36} {columns}")
        if abs(one.off) > limit:
            beyond.append(f"{row.label}: {one.off:+.1%}")
    print(f"# beyond {limit:.0%} of the simulation: {'; '.join(beyond) or 'none'}")
    return 1 if beyond else 0


def main() -> int:
    """Measure the rows that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose label contains this")
    parser.add_argument("--iterations", type=int, default=3, help="iterations a row (default %(default)s)")
    parser.add_argument("--limit", type=float, default=3, help="per cent (default %(default)s)")
    options = parser.parse_args()
    rows = [row for row in ROWS if options.only in row.label]
    if not rows:
        parser.error(f"no row has {options.only!r} in its label: {'; '.join(row.label for row in ROWS)}")
    return report([(row, compare(row, options.iterations)) for row in rows], options.limit / 100)


if __name__ == "__main__":
    sys.exit(main())
