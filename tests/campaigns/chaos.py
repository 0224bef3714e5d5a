"""Random failures under `r2cc run`, run after run. ``scripts/chaos`` starts it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from algorithms.nic import Nic
from tests.campaigns.chaos_runs import ChaosRun, draw, draw_optcc, is_fine, verdict
from tests.campaigns.jobs import Ended, end_politely, run_job, say
from tests.campaigns.result_log import Entry, ResultLog

LIMIT_S = 180.0
"""After so many seconds a run counts as hung; the longest of the drawn ones take some twenty."""
OPEN_MPI = {"R2CC_MPI": "system", "MPI4PY_LIBMPI": "libmpi.so.40"}
"""With these variables a job runs under Debian's Open MPI, whatever else is installed."""


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    command = argparse.ArgumentParser(
        prog="scripts/chaos",
        description="Random layouts of up to 4 x 4 in which rails die, slow down and come back.",
    )
    add = command.add_argument
    add("--runs", type=int, default=100, metavar="N", help="number of runs (default: 100)")
    add("--seed", type=int, default=0, metavar="S", help="seed of the first; each has its own (default: 0)")
    add("--optcc", action="store_true", help="only OptCC, hit under way; keep a log of its own for it")
    add("--open-mpi", action="store_true", help="under the machine's Open MPI; keep a log of its own for it")
    add("--log", type=Path, metavar="FILE", help="append results; skip the runs that it says were fine")
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign.

    Returns:
        The exit status: 1 if a result was wrong, a run hung, or anything else was bad.
    """
    options = parser().parse_args(arguments)
    end_politely()
    drawn = draw_optcc if options.optcc else draw
    runs = [drawn(seed) for seed in range(options.seed, options.seed + options.runs)]
    log = ResultLog(options.log)
    environment = OPEN_MPI if options.open_mpi else {}
    for run in runs:
        if not is_fine(log.verdict(str(run.seed)) or ""):
            carry_out(run, log, environment)
    words = [log.verdict(str(run.seed)) or "" for run in runs]
    bad = [run for run, word in zip(runs, words, strict=True) if not is_fine(word)]
    for run in bad:
        say(f"seed {run.seed}: {log.verdict(str(run.seed))}: {log.entries[str(run.seed)].command}")
    say(", ".join(f"{count} {word}" for word, count in Counter(words).most_common()) or "no runs")
    return 1 if bad or not runs else 0


def carry_out(run: ChaosRun, log: ResultLog, environment: Mapping[str, str]) -> None:
    """Make one run with these variables besides those of any job, and keep how it ended."""
    command = " ".join([*(f"{name}={value}" for name, value in environment.items()), run.command])
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        program = [sys.executable, "-m", "r2cc_mpi", "run", "allreduce", *run.words, "--json", str(report)]
        ended = run_job(program, timeout_s=LIMIT_S, **environment)
        blamed = blamed_in(report)
    word = verdict(run, ended.status, blamed)
    log.add(Entry(word, str(run.seed), command, f"{ended.seconds:.1f} s: {said(ended)}"))
    say(f"seed {run.seed}: {word} ({ended.seconds:.1f} s) {command}")
    if not is_fine(word):
        say(ended.text)


def blamed_in(report: Path) -> list[Nic]:
    """List the NICs whose failures a report names."""
    if not report.exists():
        return []
    iterations = json.loads(report.read_text(encoding="utf-8"))["r2cc"].get("iterations", [])
    return [Nic(one["node"], one["rail"]) for iteration in iterations for one in iteration["failovers"]]


def said(ended: Ended) -> str:
    """Give the line that says most about how a job ended: its verdict, its error, or that it hung."""
    lines = [line for line in ended.text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("# verdict:", "r2cc: error:"))]
    return (telling or lines[-1 if ended.status is not None else 0 :] or ["nothing was said"])[0]


if __name__ == "__main__":
    sys.exit(main())
