"""Many simulated runs in several processes. ``scripts/protocol-campaign`` starts it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TextIO

from tests.protocol.cases import KINDS, Case, instant_seeds

PROGRESS_S = 10.0


def say(line: str) -> None:
    """Write a line for the person who waits."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    command = argparse.ArgumentParser(
        prog="scripts/protocol-campaign",
        description="Run the protocol on simulated networks with failures, and check what must hold.",
    )
    command.add_argument("--seeds", type=int, metavar="N", help="number of runs (default: 10000)")
    command.add_argument(
        "--first", type=int, default=0, metavar="N", help="seed of the first run (default: 0)"
    )
    command.add_argument(
        "--processes", type=int, default=os.cpu_count(), metavar="P", help="default: one per core"
    )
    command.add_argument(
        "--log", type=Path, metavar="FILE", help="append results; skip the runs that it says passed"
    )
    kinds = command.add_mutually_exclusive_group()
    kinds.add_argument("--kind", choices=KINDS, default="random", help="kind of runs (default: random)")
    kinds.add_argument("--cut", dest="kind", action="store_const", const="cut", help="a node is cut off")
    kinds.add_argument(
        "--every-instant",
        dest="kind",
        action="store_const",
        const="instant",
        help="a NIC dies at every event of small runs (default: all of these runs)",
    )
    command.add_argument("--seed", type=int, metavar="S", help="only this run")
    command.add_argument("--trace", action="store_true", help="with --seed: print what happens")
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign, or replay one run.

    Returns:
        The exit status: 1 when a run failed.
    """
    options = parser().parse_args(arguments)
    if options.seed is not None:
        return replay(Case(options.kind, options.seed), trace=options.trace)
    available = instant_seeds() - options.first if options.kind == "instant" else 10_000
    seeds = range(options.first, options.first + (available if options.seeds is None else options.seeds))
    return campaign([Case(options.kind, seed) for seed in seeds], options.processes, options.log)


def replay(case: Case, *, trace: bool) -> int:
    """Run one case again, and print what happens if asked to."""

    def show(now: float, line: str) -> None:
        say(f"{now:10.6f} s  {line}")

    try:
        world = case.run(show if trace else None)
    except AssertionError as error:
        say(f"seed {case.seed} failed: {error}")
        return 1
    say(f"seed {case.seed} passed: {world.events} events, {world.now:.3f} s")
    return 0


def campaign(cases: list[Case], processes: int, log: Path | None = None) -> int:
    """Run many cases and report.

    Args:
        cases: What to run.
        processes: How many processes share the work.
        log: Where results are kept, or None. Cases that have passed according to it are not run again.

    Returns:
        The exit status.
    """
    passed = passed_according_to(log) if log is not None else set[Case]()
    todo = [case for case in cases if case not in passed]
    skipped = len(cases) - len(todo)
    if skipped:
        say(f"{skipped} runs have passed before, according to {log}")
    failed: list[Case] = []
    told_at = time.monotonic()
    with (log or Path(os.devnull)).open("a+", encoding="utf-8") as results:
        end_line(results)
        for done, (case, failure) in enumerate(outcomes(todo, processes), start=1):
            record(results, case, failure)
            if failure is not None:
                failed.append(case)
                say(f"seed {case.seed} failed: {failure}")
            if time.monotonic() > told_at + PROGRESS_S:
                told_at = time.monotonic()
                say(f"{done} of {len(todo)} runs, {len(failed)} failed")
    for case in failed:
        say(f"seed {case.seed}: {case.replay}")
    say(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def outcomes(cases: list[Case], processes: int) -> Iterator[tuple[Case, str | None]]:
    """Run cases, in order; yield each with what is wrong with it, if anything."""
    if processes == 1:
        yield from ((case, case.failure()) for case in cases)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from zip(cases, pool.map(Case.failure, cases, chunksize=10), strict=True)


def end_line(results: TextIO) -> None:
    """End the last line of a log, which an interrupted campaign may have cut short."""
    results.seek(0)
    text = results.read()
    if text and not text.endswith("\n"):
        results.write("\n")


def record(results: TextIO, case: Case, failure: str | None) -> None:
    """Write one result at once, so that a campaign that is interrupted can go on later."""
    results.write(f"{case.kind} {case.seed} {'passed' if failure is None else 'failed: ' + failure}\n")
    results.flush()


def passed_according_to(log: Path) -> set[Case]:
    """Read which cases have passed; a line that was cut short counts for nothing."""
    if not log.exists():
        return set()
    words = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    return {Case(entry[0], int(entry[1])) for entry in words if len(entry) == 3 and entry[2] == "passed"}


if __name__ == "__main__":
    sys.exit(main())
