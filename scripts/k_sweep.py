"""Measure every strategy around one dead NIC beside its formula, and what the degraded node receives.

All jobs run one after the other on the same machine, with healthy ones before, between and after: the ratios
are to their median. Times are those between nodes, as in `predicted` of `r2cc run`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from analysis import cost_model, loads

DEGRADED = 1
FORMS = ("chain", "helper")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        label: What ran.
        words: Its options of `r2cc run`.
        model: What the closed form says, over the healthy ring.
        received: What the degraded node receives by the closed form, over the healthy ring, or None.
    """

    label: str
    words: tuple[str, ...]
    model: Fraction
    received: Fraction | None = None


@dataclass(frozen=True)
class Measured:
    """What a row took: median seconds between nodes, and bytes that the degraded node received."""

    time_s: float
    received: float


def rows(n: int, g: int, pieces: list[int]) -> list[Row]:
    """List what is measured, in this order."""
    lost = Fraction(1, g)
    fault = ("--fail", f"{DEGRADED}:{min(1, g - 1)}")
    healthy = cost_model.ring(n)
    listed = [
        Row("hot-repair", (*fault, "--strategy", "hot-repair"), Fraction(2), Fraction(1)),
        Row("balance", (*fault, "--strategy", "balance"), cost_model.balance(n, lost) / healthy, Fraction(1)),
    ]
    received = loads.received_ratio(n, lost)
    for form in FORMS:
        for k in pieces:
            time = cost_model.r2cc_allreduce(n, lost, pieces=k, form=form, sub_pieces=_sub_pieces(form))
            words = (*fault, "--strategy", "r2cc-allreduce", "--pieces", str(k), "--form", form)
            listed.append(Row(f"r2cc-allreduce {form} K={k}", words, time / healthy, received))
    for form in ("simple", "overlay") if n > 2 else ():
        for k in pieces[2:]:
            time = cost_model.optcc(n, lost, segments=k, form=form)
            words = (*fault, "--strategy", "optcc", "--pieces", str(k), "--form", form)
            listed.append(Row(f"optcc {form} K={k}", words, time / healthy, 1 / healthy))
    return listed


def _sub_pieces(form: str) -> int | None:
    return 1 if form == "helper" else None


def measure(options: argparse.Namespace, words: tuple[str, ...]) -> Measured:
    """Run a job.

    Raises:
        SystemExit: The job did not pass.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        layout = ["--nodes", str(options.nodes), "--rails", str(options.rails), "--rail-rate", options.rate]
        job = [*layout, "-b", options.size, "-n", str(options.iterations), *words, "--json", str(report)]
        command = [sys.executable, "-m", "r2cc_mpi", "run", "allreduce", *job]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}exit status {done.returncode}")
        iterations: list[dict[str, Any]] = json.loads(report.read_text())["r2cc"]["iterations"]
    received = sum(iterations[-1]["rail_bytes"][f"{DEGRADED}:{rail}"]["rx"] for rail in range(options.rails))
    return Measured(median(one["network_s"] for one in iterations), received)


def main() -> None:
    """Parse the command line, measure, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=3, help="nodes (default %(default)s)")
    parser.add_argument("--rails", type=int, default=3, help="rails of a node (default %(default)s)")
    parser.add_argument("--size", default="48M", help="bytes of one rank's array (default %(default)s)")
    parser.add_argument("--rate", default="20MB/s", help="rate of a rail, each way (default %(default)s)")
    parser.add_argument("--iterations", type=int, default=3, help="iterations a row (default %(default)s)")
    parser.add_argument("--pieces", type=int, nargs="+", default=[1, 2, 4, 8, 16], help="K (default 1 .. 16)")
    options = parser.parse_args()

    listed = rows(options.nodes, options.rails, options.pieces)
    results: list[Measured] = []
    healthy = [measure(options, ())]
    for number, row in enumerate(listed):
        results.append(measure(options, row.words))
        if number == len(listed) // 2:
            healthy.append(measure(options, ()))
    healthy.append(measure(options, ()))
    base_s = median(one.time_s for one in healthy)

    print(
        f"# {options.nodes} nodes x {options.rails} rails, {options.size}, {options.rate} a rail, one dead;"
    )
    spread = [f"{one.time_s / base_s:.4f}" for one in healthy]
    print(f"# healthy: {base_s * 1e3:.1f} ms (before, between and after: {', '.join(spread)} of that)")
    print("# times over healthy; received: by the degraded node, over the healthy ring's share")
    titles = ("measured", "formula", "off (%)", "received", "formula")
    print("# {:<28} {:>9} {:>9} {:>8} {:>9} {:>9}".format("strategy", *titles))
    for row, result in zip(listed, results, strict=True):
        ratio, formula = result.time_s / base_s, float(row.model)
        received = result.received / healthy[0].received
        theory = "-" if row.received is None else f"{float(row.received):.4f}"
        off = (ratio / formula - 1) * 100
        print(f"  {row.label:<28} {ratio:9.4f} {formula:9.4f} {off:+8.2f} {received:9.4f} {theory:>9}")


if __name__ == "__main__":
    main()
