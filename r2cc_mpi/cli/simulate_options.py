"""What a command line of `r2cc simulate` asks for, checked before anything is simulated."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from algorithms.catalogue import ALGORITHMS, Case
from analysis.plots.style import FILE_TYPES
from analysis.rail_rates import RailRates
from analysis.simulation.failures import Change
from analysis.simulation.rules import Gate, PortRule, Rules
from r2cc_mpi.cli.cluster import MAX_NODES, MAX_RAILS, rates_of
from r2cc_mpi.cli.fault_checks import check_faults
from r2cc_mpi.cli.units import parse_duration, parse_rate, parse_size
from r2cc_mpi.cli.values import convert, one_of, parse_share, whole_number
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import AtTime, Declared, Fault, FaultKind, parse_faults
from r2cc_mpi.layout import Layout

MOST_STRIPES = 4_000_000
"""More take over a gigabyte and half a minute."""

MOST_PORTS_DRAWN = 96
"""More rows nobody can read."""

EXECUTOR_CHUNK = 256 * 1024
"""Bytes of a chunk as the executor cuts them."""


@dataclass(frozen=True)
class Question:
    """What is to be simulated.

    Attributes:
        algorithm: Its name in the catalogue.
        case: What it is written for at the beginning.
        re_rank: Whether each collective orders its ring by what is up when it begins.
        rates: What each NIC can carry at the beginning.
        changes: What happens on the way at a known time; times in D/B.
        faults: What happens at a point of a collective, with the change it makes, whose time does not count.
        collectives: How many follow each other.
        chunk: Size of a chunk in D, or None for whole stripes.
        rules: How ports are given out and so on.
        size_bytes: D.
        node_bytes_per_s: B, bandwidth of a healthy node in one direction.
        alpha_s: Cost of a message in seconds.
        plot: File for the picture, or None.
        json: File for JSON, `-` for standard output, or None.
    """

    algorithm: str
    case: Case
    re_rank: bool
    rates: RailRates
    changes: tuple[Change, ...]
    faults: tuple[tuple[Fault, Change], ...]
    collectives: int
    chunk: Fraction | None
    rules: Rules
    size_bytes: int
    node_bytes_per_s: Fraction
    alpha_s: Fraction
    plot: Path | None
    json: str | None

    @property
    def unit_s(self) -> Fraction:
        """D/B in seconds, the unit of the simulator."""
        return self.size_bytes / self.node_bytes_per_s


def read_options(words: Namespace) -> Question:
    """Turn the words of a command line into something to simulate.

    Args:
        words: What the parser found.

    Raises:
        UsageError: At the first thing that does not fit, naming the option.
    """
    one_of("ALGORITHM", words.algorithm, tuple(ALGORITHMS))
    layout = Layout(
        whole_number("--nodes", words.nodes, least=2), whole_number("--rails", words.rails, least=1)
    )
    if layout.nodes > MAX_NODES or layout.rails > MAX_RAILS:
        raise UsageError(f"{layout}: simulate takes up to {MAX_NODES} nodes of {MAX_RAILS} rails")
    size = convert("-b", words.minbytes, parse_size)
    if size == 0:
        raise UsageError("-b 0: there is nothing to reduce, give at least one byte")
    node_rate = Fraction(convert("--rail-rate", words.rail_rate, parse_rate)) * layout.rails
    alpha_s = convert("--alpha", words.alpha, parse_duration)
    faults = _faults(words, layout)
    unit_s = size / node_rate
    rates = rates_of(layout, [fault for fault in faults if fault.trigger == Declared()])
    changes, awaited = _changes(faults, words.unnoticed, unit_s)
    question = Question(
        algorithm=words.algorithm,
        case=_case(words, rates),
        re_rank=words.re_rank,
        rates=rates,
        changes=changes,
        faults=awaited,
        collectives=whole_number("-n", words.iters, least=1),
        chunk=_chunk(words.chunk, size, on_the_way=bool(changes or awaited)),
        rules=_rules(words, alpha_s / unit_s, node_rate),
        size_bytes=size,
        node_bytes_per_s=node_rate,
        alpha_s=alpha_s,
        plot=None if words.plot is None else _picture(words.plot, layout),
        json=words.json,
    )
    _check_size(question)
    return question


def _faults(words: Namespace, layout: Layout) -> tuple[Fault, ...]:
    faults = parse_faults(words.fail, words.slow, words.recover)
    if words.algorithm == "ring" and any(fault.kind is FaultKind.FAIL for fault in faults):
        raise UsageError("ring stops where a rail is dead: simulate hot-repair, balance or r2cc-allreduce")
    check_faults(faults, layout, iterations=whole_number("-n", words.iters, least=1), sizes=1)
    return faults


def _changes(
    faults: Sequence[Fault], unnoticed: str | None, unit_s: Fraction
) -> tuple[tuple[Change, ...], tuple[tuple[Fault, Change], ...]]:
    """Turn faults into changes: those with a time, and those that wait for bytes or chunks."""
    silence = Fraction(0) if unnoticed is None else convert("--unnoticed", unnoticed, parse_duration) / unit_s
    factors = {FaultKind.FAIL: Fraction(0), FaultKind.RECOVER: Fraction(1)}
    changes, awaited = [], []
    for fault in faults:
        factor = factors[fault.kind] if fault.factor is None else fault.factor
        change = Change(Fraction(0), fault.nic, factor, Fraction(0) if factor else silence)
        if isinstance(fault.trigger, AtTime):
            changes.append(replace(change, time=fault.trigger.seconds / unit_s))
        elif not isinstance(fault.trigger, Declared):
            awaited.append((fault, change))
    if silence and all(change.factor for change in (*changes, *(change for _, change in awaited))):
        raise UsageError("--unnoticed: no rail dies on the way, add a --fail NODE:RAIL@WHEN")
    return tuple(changes), tuple(awaited)


def _case(words: Namespace, rates: RailRates) -> Case:
    return Case(
        rates=rates.rates,
        pieces=None if words.pieces is None else whole_number("--pieces", words.pieces, least=1),
        partial=None if words.partial is None else convert("--partial", words.partial, parse_share),
        form=words.form,
        sub_pieces=1 if words.sub_pieces is None else whole_number("--sub-pieces", words.sub_pieces, least=1),
    )


def _chunk(text: str | None, size: int, *, on_the_way: bool) -> Fraction | None:
    if text is None and not on_the_way:
        return None
    most = EXECUTOR_CHUNK if text is None else convert("--chunk", text, parse_size)
    if most == 0:
        raise UsageError("--chunk 0: give at least one byte")
    # Whole chunks to the data keep the grid coarse, whatever the size.
    return Fraction(1, -(-size // most))


def _rules(words: Namespace, alpha: Fraction, node_bytes_per_s: Fraction) -> Rules:
    memory = (
        None if words.node_rate is None else Fraction(convert("--node-rate", words.node_rate, parse_rate))
    )
    return Rules(
        alpha=alpha,
        port=PortRule(one_of("--ports", words.ports, [rule.value for rule in PortRule])),
        gate=Gate(one_of("--gate", words.gate, [gate.value for gate in Gate])),
        node_rate=None if memory is None else memory / node_bytes_per_s,
    )


def _picture(target: str, layout: Layout) -> Path:
    file = Path(target)
    if file.suffix.lower() not in FILE_TYPES:
        raise UsageError(f"--plot {file}: pictures are png or svg, end the name with .png or .svg")
    if 2 * layout.nodes * layout.rails > MOST_PORTS_DRAWN:
        raise UsageError(f"--plot: {layout} have more ports than fit a picture, {MOST_PORTS_DRAWN} at most")
    return file


def _check_size(question: Question) -> None:
    """Refuse what would take too long; a ring has the most stripes of all."""
    nodes, rails = question.rates.nodes, question.rates.rails
    stripes = 2 * nodes * (nodes - 1) * rails
    if question.chunk is not None:
        stripes = max(stripes, int(2 * (nodes - 1) / question.chunk))
    if stripes * question.collectives > MOST_STRIPES:
        raise UsageError(
            f"about {stripes * question.collectives} stripes are more than simulate takes ({MOST_STRIPES}): "
            "give fewer nodes, rails or collectives, or larger chunks"
        )
