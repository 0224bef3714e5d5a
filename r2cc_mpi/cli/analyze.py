"""`r2cc analyze`: the papers' numbers beside ours, as text, JSON, CSV and pictures.

Nothing here computes: `analysis.reports` makes the reports, `analysis.plots` draws them.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from algorithms.transfer import ScheduleError
from analysis import simulated
from analysis.errors import ModelError
from analysis.plots import PICTURES, style
from analysis.rail_rates import RailRates
from analysis.reports import (
    bound,
    bound_bandwidths,
    bound_rails,
    failures,
    figure6,
    figure7,
    figure17,
    headline,
    k_sweep,
    machine,
    table1,
    table4,
    text,
    training,
)
from analysis.reports.degraded import Degraded
from analysis.reports.report import Report
from r2cc_mpi.cli.analyze_options import AnalyzeOptions, read_options
from r2cc_mpi.errors import MachineError, UsageError, WrongResultError

_T = TypeVar("_T")


def run(words: Namespace) -> int:
    """Make one report and write it to wherever it was asked for.

    Args:
        words: What the parser found.

    Returns:
        The exit status: 0, or 2 if a number differs from the paper's that must not.

    Raises:
        UsageError: An option does not fit, or the models have no answer for it.
        MachineError: A file cannot be written.
    """
    options = read_options(words)
    try:
        report = _BUILDERS[options.what](options)
        if options.plot is not None:
            _draw(report, options.plot)
    except (ModelError, ScheduleError) as error:
        raise UsageError(str(error)) from error
    _write("--json", machine.json_text(report), options.json)
    _write("--csv", machine.csv_text(report), options.csv)
    # Who reads a report from standard output wants nothing else there.
    stream = sys.stderr if "-" in {options.json, options.csv} else sys.stdout
    print("\n".join(text.to_text(report)), file=stream)
    return 0 if report.ok else WrongResultError.exit_code


def _figure6(options: AnalyzeOptions) -> Report:
    nodes = figure6.NODES if options.nodes is None else options.nodes
    return figure6.build(nodes, figure6.LOST if options.lost is None else options.lost)


def _figure7(options: AnalyzeOptions) -> Report:
    nodes = figure7.NODES if options.nodes is None else options.nodes
    return figure7.build(nodes, figure7.RAILS if options.rails is None else options.rails)


def _bound(options: AnalyzeOptions) -> Report:
    if options.bandwidths is not None:
        return bound_bandwidths.build(options.bandwidths)
    if options.nodes is not None and options.rails is not None:
        return bound_rails.build(RailRates.of(options.nodes, options.rails, options.dead, options.slow))
    return bound.build()


def _training(options: AnalyzeOptions) -> Report:
    case = _degraded(options, training.AS_IN_PAPER_1)
    return training.build(case, training.EXPOSED if options.exposed is None else options.exposed)


def _headline(options: AnalyzeOptions) -> Report:
    return headline.build(
        _or(options.sizes, headline.SIZES),
        _or(options.alpha_s, headline.ALPHA_S),
        _or(options.rail_bytes_per_s, headline.RAIL_BYTES_PER_S),
        most=_or(options.messages, simulated.MOST_MESSAGES),
    )


def _failures(options: AnalyzeOptions) -> Report:
    clusters = tuple(
        (_or(options.nodes, nodes), _or(options.rails, rails)) for nodes, rails in failures.CLUSTERS
    )
    return failures.build(
        tuple(dict.fromkeys(clusters)),
        _or(options.dead_counts, failures.DEAD),
        _or(options.exposed, training.EXPOSED),
        samples=_or(options.samples, failures.SAMPLES),
        seed=_or(options.seed, failures.SEED),
    )


def _or(given: _T | None, usual: _T) -> _T:
    return usual if given is None else given


def _degraded(options: AnalyzeOptions, usual: Degraded) -> Degraded:
    """Say which node lost what: the usual case, but for what the user gave."""
    nodes = usual.nodes if options.nodes is None else options.nodes
    if options.dead:
        places = {nic.node for nic in options.dead}
        if len(places) > 1:
            raise UsageError(
                f"--fail hits nodes {', '.join(map(str, sorted(places)))}: {options.what} knows one "
                "degraded node, name rails of a single one (r2cc analyze bound takes any)"
            )
        return Degraded(nodes, options.rails or usual.rails, tuple(sorted(nic.rail for nic in options.dead)))
    if options.lost is not None:
        return Degraded.by_share(nodes, options.lost, options.rails)
    if options.rails is not None:
        return Degraded(nodes, options.rails, (0,))
    return Degraded(nodes, usual.rails, usual.dead)


_BUILDERS: Mapping[str, Callable[[AnalyzeOptions], Report]] = {
    "table1": lambda _: table1.build(),
    "figure6": _figure6,
    "figure7": _figure7,
    "figure17": lambda _: figure17.build(),
    "table4": lambda options: table4.build(_degraded(options, k_sweep.AS_MEASURED)),
    "k-sweep": lambda options: k_sweep.build(_degraded(options, k_sweep.AS_MEASURED)),
    "bound": _bound,
    "training": _training,
    "headline": _headline,
    "failures": _failures,
}


def _draw(report: Report, file: Path) -> None:
    with style.settings():
        try:
            style.save(PICTURES[report.name](report), file)
        except OSError as error:
            raise MachineError(f"--plot {file}: cannot write it ({error.strerror})") from error


def _write(option: str, content: str, target: str | None) -> None:
    if target is None:
        return
    if target == "-":
        sys.stdout.write(content)
        return
    try:
        Path(target).write_text(content, encoding="utf-8")
    except OSError as error:
        raise MachineError(f"{option} {target}: cannot write it ({error.strerror})") from error
