"""`r2cc simulate`: play an algorithm on a simulated cluster."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from algorithms.catalogue import ALGORITHMS
from algorithms.re_ranking import common_capacity, re_rank
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError
from analysis.errors import ModelError
from analysis.plots import gantt, style
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked
from analysis.simulation.failures import Change, simulate_sequence
from analysis.simulation.timeline import Timeline
from analysis.simulation.triggers import Awaited, fixed
from analysis.simulator import simulate
from r2cc_mpi.cli.cluster import rings_of
from r2cc_mpi.cli.report_json import write_json
from r2cc_mpi.cli.simulate_options import Question, read_options
from r2cc_mpi.cli.simulate_report import to_json, to_lines
from r2cc_mpi.errors import MachineError, UsageError
from r2cc_mpi.faults import AtBytes, AtChunk, FaultKind


def run(words: Namespace) -> int:
    """Simulate and print what happened.

    Args:
        words: What the parser found.

    Returns:
        0.

    Raises:
        UsageError: An option is wrong, or the algorithm cannot serve the cluster.
        MachineError: A file cannot be written.
    """
    question = read_options(words)
    try:
        if question.faults:
            question = replace(question, changes=tuple(_changes(question)), faults=())
        timelines = _play(question)
        if question.plot is not None:
            _draw(question, timelines)
    except (ModelError, ScheduleError) as error:
        raise UsageError(str(error)) from error
    # Who reads the document from standard output wants nothing else there.
    print("\n".join(to_lines(question, timelines)), file=sys.stderr if question.json == "-" else sys.stdout)
    if question.json is not None:
        write_json(to_json(question, timelines), question.json)
    return 0


def _changes(question: Question) -> list[Change]:
    """Find out when the changes happen that wait for bytes or chunks, besides those with a time."""
    # As ranks count: a share of what the rail sends in a collective as planned at the beginning.
    loads = _play(replace(question, changes=(), collectives=1, faults=()))[0].stripes.rail_loads()

    def play(changes: Sequence[Change]) -> list[Timeline]:
        return _play(replace(question, changes=tuple(changes)))

    awaited = []
    for fault, change in question.faults:
        trigger = fault.trigger
        assert isinstance(trigger, AtBytes | AtChunk)
        point = Awaited(change, fault.option, trigger.iteration)
        if isinstance(trigger, AtChunk):
            point = replace(point, stripes=trigger.chunk)
        elif fault.kind is FaultKind.RECOVER:
            point = replace(point, done=trigger.fraction)
        else:
            point = replace(point, sent=trigger.fraction * loads[fault.nic][0])
        awaited.append(point)
    return fixed(question.changes, awaited, play)


def _play(question: Question) -> list[Timeline]:
    on_the_way = bool(question.changes or question.faults)

    def plan(rates: RailRates) -> Stripes:
        order = re_rank(common_capacity(rates.rates)) if question.re_rank else None
        case = replace(question.case, rates=rates.rates, order=order)
        # All algorithms are the ring as long as nothing is wrong, and some need something to be wrong.
        is_healthy = rates == RailRates.of(rates.nodes, rates.rails)
        algorithm = "ring" if is_healthy and on_the_way else question.algorithm
        if algorithm == "nested-optcc":
            case = replace(case, rings=rings_of(rates))
        stripes = ALGORITHMS[algorithm](case)
        return stripes if question.chunk is None else chunked(stripes, question.chunk)

    if not on_the_way:
        return [simulate(plan(question.rates), question.rates, question.rules)] * question.collectives
    return simulate_sequence(plan, question.rates, question.changes, question.collectives, question.rules)


def _draw(question: Question, timelines: list[Timeline]) -> None:
    assert question.plot is not None
    with style.settings():
        figure = gantt.draw(timelines, float(question.unit_s) * 1e3, "ms")
        try:
            style.save(figure, question.plot)
        except OSError as error:
            raise MachineError(f"--plot {question.plot}: cannot write it ({error.strerror})") from error
