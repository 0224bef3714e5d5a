"""Lets a rail die after every single chunk, on real ranks. ``scripts/worst-instant`` starts it."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from algorithms.nic import Nic
from r2cc_mpi.layout import Layout
from tests.campaigns.instants import MANNERS, Instant, Outcome, complaint, instants, parse_layout, short
from tests.campaigns.jobs import Ended, end_politely, last_line, run_job, say
from tests.campaigns.result_log import PASSED, Entry, ResultLog
from tests.launch.launcher import mpi_command

LAYOUTS = (Layout(3, 2), Layout(2, 3))
PROGRAM = ("-m", "tests.campaigns.instant_program")
START_S = 40.0
"""What a job may take at most to start and to end, besides its cases."""
CASE_S = 15.0
"""What a case may take at most: the isolation timeout and half as much again."""


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    command = argparse.ArgumentParser(
        prog="scripts/worst-instant",
        description="For every NIC and each of its chunks: a collective in which the NIC dies after it.",
    )
    add = command.add_argument
    add(
        "--layout",
        action="append",
        type=parse_layout,
        metavar="NxG",
        help="nodes x rails; repeatable (default: 3x2 and 2x3)",
    )
    add("--manner", action="append", choices=MANNERS, help="how it dies; repeatable (default: all four)")
    add("--nic", metavar="NODE:RAIL", help="only this NIC")
    add("--chunk", type=int, metavar="C", help="only after this chunk (0: before the first)")
    add("--seed", type=int, default=0, metavar="S", help="decides the order (default: 0)")
    add("--sample", type=int, metavar="N", help="only the first N of each layout and manner in that order")
    add("--per-launch", type=int, default=42, metavar="N", help="cases of one MPI job (default: 42)")
    add("--log", type=Path, metavar="FILE", help="append results; skip the cases that it says passed")
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign.

    Returns:
        The exit status: 1 when a case failed, or when there was none.
    """
    options = parser().parse_args(arguments)
    end_politely()
    cases = choose(options)
    log = ResultLog(options.log)
    todo = [case for case in cases if log.verdict(case.name) != PASSED]
    if len(todo) < len(cases):
        say(f"{len(cases) - len(todo)} cases have passed before, according to {options.log}")
    for _, group in groupby(todo, key=lambda case: (case.layout, case.manner)):
        run_group(list(group), options.per_launch, log)
    summarise(cases, log)
    return 0 if cases and all(log.verdict(case.name) == PASSED for case in cases) else 1


def choose(options: argparse.Namespace) -> list[Instant]:
    """List the cases that the options ask for, grouped by layout and manner, in the order of the seed."""
    chosen = []
    for layout in options.layout or LAYOUTS:
        for manner in options.manner or MANNERS:
            cases = instants(layout, manner)
            if options.nic is not None:
                node, rail = map(int, options.nic.split(":"))
                cases = [case for case in cases if case.nic == Nic(node, rail)]
            if options.chunk is not None:
                cases = [case for case in cases if case.chunk == options.chunk]
            random.Random(f"{options.seed} {short(layout)} {manner}").shuffle(cases)
            chosen += cases[: options.sample]
    return chosen


def run_group(cases: list[Instant], per_launch: int, log: ResultLog) -> None:
    """Run cases of one layout.

    A case that ends its job has failed, and the rest go into another job.
    """
    done = 0
    while done < len(cases):
        batch = cases[done : done + per_launch]
        outcomes, ended = launch(batch)
        for case, outcome in zip(batch, outcomes, strict=False):
            record(log, case, complaint(case, outcome), outcome)
        done += len(outcomes)
        if len(outcomes) < len(batch):
            record(log, batch[len(outcomes)], how_it_ended(ended), None)
            done += 1
        elif ended.status != 0:
            record(log, batch[-1], f"all cases over, then {how_it_ended(ended)}", outcomes[-1])
        say(f"{short(batch[0].layout)} {batch[0].manner}: {done} of {len(cases)} ({ended.seconds:.0f} s)")


def launch(batch: list[Instant]) -> tuple[list[Outcome], Ended]:
    """Run cases in one job; give the outcomes of those that were over when it ended."""
    with tempfile.TemporaryDirectory() as folder:
        cases, outcomes = Path(folder) / "cases", Path(folder) / "outcomes"
        cases.write_text("".join(f"{case.name}\n" for case in batch), encoding="utf-8")
        outcomes.touch()
        command = mpi_command(batch[0].layout.ranks, [*PROGRAM, str(cases), str(outcomes)])
        ended = run_job(command, timeout_s=START_S + CASE_S * len(batch))
        lines = outcomes.read_text(encoding="utf-8").splitlines(keepends=True)
    # A job that was killed may have left the last line half written.
    return [Outcome.from_json(json.loads(line)) for line in lines if line.endswith("\n")], ended


def how_it_ended(ended: Ended) -> str:
    """Say how a job ended that should have passed."""
    if ended.status is None:
        return f"hung: {ended.text.splitlines()[0]}"
    return f"the job ended with status {ended.status}: {last_line(ended.text)}"


def record(log: ResultLog, case: Instant, problem: str | None, outcome: Outcome | None) -> None:
    """Keep the result of a case, and say it if it is bad."""
    detail = "" if outcome is None else json.dumps(outcome.to_json())
    if problem is not None:
        say(f"FAILED {case.name}: {problem}\n  {case.command}")
    log.add(Entry(problem or PASSED, case.name, case.command, detail))


def summarise(cases: list[Instant], log: ResultLog) -> None:
    """Say for each layout and manner how it went, and what was measured."""
    for (layout, manner), group in groupby(cases, key=lambda case: (case.layout, case.manner)):
        entries = [log.entries[case.name] for case in group]
        outcomes = [Outcome.from_json(json.loads(entry.detail)) for entry in entries if entry.detail]
        times = sorted(outcome.known_s for outcome in outcomes if outcome.known_s is not None)
        noticed = f"{len(times)} noticed"
        if times:
            median_ms, most_ms = statistics.median(times) * 1e3, times[-1] * 1e3
            noticed += f", known everywhere after {median_ms:.1f} ms (median), {most_ms:.1f} (most)"
        resent = max((max(outcome.resent, default=0) for outcome in outcomes), default=0)
        passed = sum(entry.verdict == PASSED for entry in entries)
        say(
            f"{short(layout)} {manner}: {passed} of {len(entries)} passed, {noticed}, "
            f"at most {resent} bytes of a channel sent again"
        )
    passed = sum(log.verdict(case.name) == PASSED for case in cases)
    say(f"{passed} passed, {len(cases) - passed} failed")


if __name__ == "__main__":
    sys.exit(main())
