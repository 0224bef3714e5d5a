"""Measure every strategy around a node with dead NICs, beside a simulation, its formula and the bound.

All jobs run one after the other on the same machine, with healthy ones before, between and after: the ratios
are to their median. Times are those between nodes, as in `predicted` of `r2cc run`. The formula knows whole
pieces and segments; the simulation (`analysis.simulation.executor`) plays the chunks that the ranks send.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from algorithms.nic import Nic
from analysis import cost_model, loads, rail_bound
from analysis.played import played_time
from analysis.rail_rates import RailRates
from r2cc_mpi.cli.units import parse_rate, parse_size
from r2cc_mpi.planning import Wishes, choose, chunking_for
from r2cc_mpi.strategy import Strategy
from scripts.paced_jobs import run_job

DEGRADED = 1
FORMS = ("chain", "helper", "simple", "overlay", "mixture")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        label: What ran.
        strategy: Of `r2cc run`.
        pieces: K, or None.
        form: Of the strategy, or None.
        model: What the closed form says, over the healthy ring.
        received: What the degraded node receives by the closed form, over the healthy ring.
    """

    label: str
    strategy: str
    pieces: int | None
    form: str | None
    model: Fraction
    received: Fraction

    @property
    def words(self) -> list[str]:
        """Its options of `r2cc run`."""
        named = {"--strategy": self.strategy, "--pieces": self.pieces, "--form": self.form}
        return [str(word) for option in named.items() if option[1] is not None for word in option]


@dataclass(frozen=True)
class Measured:
    """What a row took: median seconds between nodes, and bytes that the degraded node received."""

    time_s: float
    received: float


def rows(n: int, lost: Fraction, pieces: list[int], forms: list[str]) -> list[Row]:
    """List what is measured, in this order."""
    healthy = cost_model.ring(n)
    listed = [Row("balance", "balance", None, None, cost_model.balance(n, lost) / healthy, Fraction(1))]
    for form in forms:
        for k in pieces:
            if form in {"chain", "helper"}:
                strategy, received = "r2cc-allreduce", loads.received_ratio(n, lost)
                sub_pieces = 1 if form == "helper" else None
                time = cost_model.r2cc_allreduce(n, lost, pieces=k, form=form, sub_pieces=sub_pieces)
            else:
                strategy, received = "optcc", loads.optcc(n, lost, form).degraded / healthy
                time = cost_model.optcc(n, lost, segments=k, form=form)
            listed.append(Row(f"{strategy} {form} K={k}", strategy, k, form, time / healthy, received))
    return listed


def simulated(row: Row, options: argparse.Namespace) -> Fraction:
    """Play the chunks of a row as the ranks do; over the healthy ring."""
    size, rate = parse_size(options.size), parse_rate(options.rate)
    wishes = Wishes(Strategy.parse(row.strategy), row.pieces, form=row.form, rail_bytes_per_s=Fraction(rate))
    down = tuple(dead_nics(options))
    stripes = choose(options.nodes, options.rails, wishes, down, size).stripes
    rates = RailRates.of(options.nodes, options.rails, down)
    time = played_time(stripes, rates, chunking_for(Fraction(rate), size))
    return time / cost_model.ring(options.nodes)


def dead_nics(options: argparse.Namespace) -> list[Nic]:
    """List what the degraded node lost."""
    return [Nic(DEGRADED, 1 + place) for place in range(options.lost)]


def measure(options: argparse.Namespace, words: list[str]) -> Measured:
    """Run a job."""
    layout = ["--nodes", str(options.nodes), "--rails", str(options.rails), "--rail-rate", options.rate]
    iterations = run_job(*layout, "-b", options.size, "-n", str(options.iterations), *words)
    received = sum(iterations[-1]["rail_bytes"][f"{DEGRADED}:{rail}"]["rx"] for rail in range(options.rails))
    return Measured(median(one["network_s"] for one in iterations), received)


def read_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=3, help="nodes, at least 3 (default %(default)s)")
    parser.add_argument("--rails", type=int, default=3, help="rails of a node (default %(default)s)")
    parser.add_argument("--lost", type=int, default=1, help="dead rails of node 1 (default %(default)s)")
    parser.add_argument("--size", default="48M", help="bytes of one rank's array (default %(default)s)")
    parser.add_argument("--rate", default="20MB/s", help="rate of a rail, each way (default %(default)s)")
    parser.add_argument("--iterations", type=int, default=3, help="iterations a row (default %(default)s)")
    parser.add_argument("--pieces", type=int, nargs="+", default=[4, 8, 16], help="K (default 4 8 16)")
    parser.add_argument(
        "--forms", nargs="+", default=FORMS, choices=FORMS, help="what to measure (default all)"
    )
    options = parser.parse_args()
    if options.nodes < 3 or not 0 < options.lost < options.rails:
        parser.error("give at least 3 nodes, and node 1 must lose a rail and keep one")
    return options


def main() -> None:
    """Measure, and print one table."""
    options = read_options()
    listed = rows(options.nodes, Fraction(options.lost, options.rails), options.pieces, options.forms)
    faults = [word for nic in dead_nics(options) for word in ("--fail", f"{nic.node}:{nic.rail}")]
    results: list[Measured] = []
    healthy = [measure(options, [])]
    for number, row in enumerate(listed):
        results.append(measure(options, [*faults, *row.words]))
        if number == len(listed) // 2:
            healthy.append(measure(options, []))
    healthy.append(measure(options, []))
    base_s = median(one.time_s for one in healthy)

    bound = rail_bound.optimum(RailRates.of(options.nodes, options.rails, dead_nics(options))).time
    assert bound is not None
    layout = f"{options.nodes} nodes x {options.rails} rails"
    print(f"# {layout}, {options.size}, {options.rate} a rail, {options.lost} of node {DEGRADED} dead;")
    spread = [f"{one.time_s / base_s:.4f}" for one in healthy]
    print(f"# healthy: {base_s * 1e3:.1f} ms (before, between and after: {', '.join(spread)} of that)")
    print(f"# times over healthy, the least possible is {float(bound / cost_model.ring(options.nodes)):.4f};")
    print("# received: by the degraded node, over the healthy ring's share")
    titles = ("measured", "simulated", "off (%)", "formula", "received", "formula")
    print("# {:<28} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9}".format("strategy", *titles))
    for row, result in zip(listed, results, strict=True):
        ratio, played = result.time_s / base_s, float(simulated(row, options))
        received = result.received / healthy[0].received
        print(
            f"  {row.label:<28} {ratio:9.4f} {played:9.4f} {(ratio / played - 1) * 100:+8.2f} "
            f"{float(row.model):9.4f} {received:9.4f} {float(row.received):9.4f}"
        )


if __name__ == "__main__":
    main()
