"""What `scripts/reproduce` does with its words: run, print tables as they come, write them, judge."""

from __future__ import annotations

import json
import sys
from argparse import Namespace as Words
from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.reports.machine import to_json
from analysis.reports.report import Report
from analysis.reports.text import to_text
from r2cc_mpi.cli.files import write_text
from r2cc_mpi.cli.launch import EndedBySignalError, ending_signals_raise
from r2cc_mpi.cli.units import parse_rate, parse_seconds, parse_size
from r2cc_mpi.cli.values import convert, output_file, whole_number
from r2cc_mpi.errors import MachineError, UsageError
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction import cuts, detection, experiments, heal, side_by_side, table4
from scripts.reproduction.parser import build_parser
from scripts.reproduction.setting import Setting, missing
from tests.campaigns.result_log import Entry, ResultLog


def main(argv: Sequence[str]) -> int:
    """Carry out one command line.

    Args:
        argv: The words behind `scripts/reproduce`.

    Returns:
        The exit status: 0 if everything was as it must be (an aim that was missed is only told), else 1;
        128 + the number of the signal that ended us.

    Raises:
        R2ccError: It cannot be done.
    """
    words = build_parser().parse_args(argv)
    output_file("--json", words.json)  # a mistake is worth knowing before the minutes that a run takes
    try:
        with ending_signals_raise():
            return _campaign(words) if words.what == "cuts" else _experiment(words)
    except EndedBySignalError as ended:
        return 128 + ended.number


def _experiment(words: Words) -> int:
    done: list[Report] = []
    for report in _reports(words):
        done.append(report)
        _say(words, "\n".join(to_text(report)) + "\n")
        if words.json not in {None, "-"}:  # at once: the next job may be interrupted
            _write(words, [to_json(one) for one in done])
    if words.json == "-":
        _write(words, [to_json(one) for one in done])
    return 0 if all(report.ok for report in done) else 1


def _say(words: Words, text: str) -> None:
    """Print for people; beside a report on standard output they read standard error."""
    print(text, file=sys.stderr if words.json == "-" else sys.stdout, flush=True)


def _write(words: Words, document: object) -> None:
    write_text("--json", words.json, json.dumps(document, indent=2) + "\n")


def _reports(words: Words) -> Iterator[Report]:
    setting = Setting(
        whole_number("--nodes", words.nodes, least=2),
        whole_number("--rails", words.rails, least=2),
        convert("--rate", words.rate, parse_rate),
        convert("--size", words.size, parse_size),
    )
    if words.what == "side-by-side":
        iterations, turns = (
            whole_number("--iterations", words.iterations, least=1),
            whole_number("--turns", words.turns, least=1),
        )
        if lack := missing(Mpi.OPEN_MPI):
            raise MachineError(f"side-by-side compares with Open MPI: {lack}")
        yield side_by_side.report(setting, iterations, side_by_side.run(setting, iterations, turns))
        return
    for mpi in _mpis(words):
        yield from _REPORTS[words.what](words, setting, mpi)


def _table4(words: Words, setting: Setting, mpi: Mpi) -> Iterator[Report]:
    pieces = [whole_number("--pieces", one, least=1) for one in words.pieces]
    listed = table4.lines(setting.nodes, pieces)
    iterations = whole_number("--iterations", words.iterations, least=1)
    yield table4.report(setting, listed, mpi, table4.run(setting, listed, iterations, mpi))


def _one_of_two(words: Words, setting: Setting, mpi: Mpi) -> Iterator[Report]:
    number = int(words.what[-1])
    iterations = whole_number("--iterations", words.iterations, least=experiments.HIT + number)
    corrupt = whole_number("--corrupt", words.corrupt)
    for how in _hows(words):
        yield experiments.report(number, experiments.run(setting, number, iterations, mpi, how, corrupt))


def _detection(words: Words, setting: Setting, mpi: Mpi) -> Iterator[Report]:
    seed = whole_number("--seed", words.seed)
    drawn = detection.draw(setting, whole_number("--cuts", words.cuts, least=1), seed)
    for how in _hows(words):
        yield detection.report(setting, drawn, mpi, how, detection.run(setting, drawn, mpi, how))


def _heal(words: Words, setting: Setting, mpi: Mpi) -> Iterator[Report]:
    outages = heal.OUTAGES_S if words.outage is None else tuple(map(_outage, words.outage))
    yield heal.report(
        setting, mpi, [heal.run(setting, mpi, how, outage_s) for how in _hows(words) for outage_s in outages]
    )


_REPORTS = {
    "experiment1": _one_of_two,
    "experiment2": _one_of_two,
    "table4": _table4,
    "detection": _detection,
    "heal": _heal,
}


def _campaign(words: Words) -> int:
    first, count = whole_number("--seed", words.seed), whole_number("--runs", words.runs, least=1)
    log, mpis = ResultLog(words.log), tuple(_mpis(words))
    runs = [cuts.draw(seed, mpis) for seed in range(first, first + count)]
    for run in runs:
        name = str(run.seed)
        if log.verdict(name) in cuts.FINE:
            continue
        ended = cuts.carry_out(run)
        word = cuts.verdict(run, ended)
        log.add(
            Entry(
                word, name, f"scripts/reproduce cuts --seed {name} --runs 1", f"{ended.seconds:.1f} s: {run}"
            )
        )
        _say(words, f"seed {name}: {word} ({ended.seconds:.1f} s) {run}")
        if word not in cuts.FINE:
            _say(words, ended.said)
    counted = Counter(log.verdict(str(run.seed)) or "" for run in runs)
    _say(words, ", ".join(f"{number} {word}" for word, number in counted.most_common()))
    if words.json is not None:
        _write(words, {"cuts": counted})
    return 0 if set(counted) <= set(cuts.FINE) else 1


def _mpis(words: Words) -> list[Mpi]:
    """List the MPIs asked for; if none was, those that are installed, and tell of the others."""
    if words.mpi:
        return [Mpi(one) for one in words.mpi]
    lacks = {mpi: missing(mpi) for mpi in Mpi}
    for lack in filter(None, lacks.values()):
        _say(words, f"# left out: {lack}")
    there = [mpi for mpi, lack in lacks.items() if not lack]
    if not there:
        raise MachineError("there is no MPI here: run scripts/setup, or apt install openmpi-bin")
    return there


def _hows(words: Words) -> list[How]:
    return [How(one) for one in words.how] if words.how else list(How)


def _outage(text: str) -> float | None:
    if text == "never":
        return None
    try:
        return convert("--outage", text, parse_seconds)
    except UsageError as error:
        raise UsageError(f"{error}, or never") from None
