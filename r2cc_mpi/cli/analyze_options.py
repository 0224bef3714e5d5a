"""What a command line of `r2cc analyze` asks for, checked before anything is computed."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from algorithms.nic import Nic
from r2cc_mpi.cli.analyze_parser import ABOUT
from r2cc_mpi.cli.analyze_values import counts, lost_share, numbers, shares, sizes
from r2cc_mpi.cli.fault_checks import check_faults
from r2cc_mpi.cli.units import parse_duration, parse_rate
from r2cc_mpi.cli.values import convert, output_file, whole_number
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Fault, FaultKind, parse_fault
from r2cc_mpi.layout import Layout

CASE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "table1": (),
    "figure6": ("--nodes", "--lost"),
    "figure7": ("--nodes", "--rails"),
    "figure17": (),
    "table4": ("--nodes", "--rails", "--lost", "--fail"),
    "k-sweep": ("--nodes", "--rails", "--lost", "--fail"),
    "bound": ("--nodes", "--rails", "--fail", "--slow", "--bandwidths"),
    "training": ("--nodes", "--rails", "--lost", "--exposed"),
    "headline": ("--sizes", "--alpha", "--rail-rate", "--messages"),
    "failures": ("--nodes", "--rails", "--dead", "--exposed", "--samples", "--seed"),
}
"""Options that say what to compute, for each report."""

PICTURES = (
    *("figure6", "figure7", "figure17", "table4", "k-sweep", "bound", "training"),
    *("headline", "failures"),
)
PICTURE_TYPES = (".png", ".svg")

MOST_NODES = 4096
MOST_RAILS = 64
MOST_NICS = 4096
MOST_SAMPLES = 1_000_000
MOST_MESSAGES = 2_000_000
"""Larger cases take longer than anybody waits at a prompt."""


@dataclass(frozen=True)
class AnalyzeOptions:
    """One report to make.

    Attributes:
        what: Which one.
        nodes: Number of nodes, or None if not given.
        rails: Rails of each node, or None if not given.
        lost: X, or None if not given.
        dead: NICs that are dead.
        slow: NICs that are slowed down, with the fraction of their rate that is left.
        bandwidths: Of each node, in units of B, or None if not given.
        exposed: Shares of an iteration, or None if not given.
        sizes: Bytes of data, or None if not given.
        alpha_s: Cost of a message in seconds, or None if not given.
        rail_bytes_per_s: Rate of a rail, or None if not given.
        messages: Messages up to which a case is simulated, or None if not given.
        dead_counts: Numbers of random dead rails, or None if not given.
        samples: Placements to draw for each of them, or None if not given.
        seed: Of the draws, or None if not given.
        json: File for JSON, `-` for standard output, or None.
        csv: File for CSV, `-` for standard output, or None.
        plot: File for the picture, or None.
    """

    what: str
    nodes: int | None
    rails: int | None
    lost: Fraction | None
    dead: tuple[Nic, ...]
    slow: Mapping[Nic, Fraction]
    bandwidths: tuple[Fraction, ...] | None
    exposed: tuple[Fraction, ...] | None
    sizes: tuple[int, ...] | None
    alpha_s: Fraction | None
    rail_bytes_per_s: Fraction | None
    messages: int | None
    dead_counts: tuple[int, ...] | None
    samples: int | None
    seed: int | None
    json: str | None
    csv: str | None
    plot: Path | None


def read_options(words: Namespace) -> AnalyzeOptions:
    """Turn the words of a command line into a report to make.

    Args:
        words: What the parser found.

    Raises:
        UsageError: At the first thing that does not fit, naming the option.
    """
    what = _what(words.what)
    _check_applicable(what, words)
    _check_outputs_differ(words)
    nodes = _count("--nodes", words.nodes, least=2, most=MOST_NODES)
    rails = _count("--rails", words.rails, least=1, most=MOST_RAILS)
    if (nodes or 1) * (rails or 1) > MOST_NICS:
        raise UsageError(f"{nodes} nodes x {rails} rails: analyze takes up to {MOST_NICS} NICs, give fewer")
    faults = _faults(words, nodes, rails)
    return AnalyzeOptions(
        what=what,
        nodes=nodes,
        rails=rails,
        lost=None if words.lost is None else convert("--lost", words.lost, lost_share),
        dead=tuple(fault.nic for fault in faults if fault.kind is FaultKind.FAIL),
        slow={fault.nic: fault.factor for fault in faults if fault.factor is not None},
        bandwidths=None
        if words.bandwidths is None
        else numbers("--bandwidths", words.bandwidths, most=MOST_NODES),
        exposed=None if words.exposed is None else shares("--exposed", words.exposed),
        sizes=None if words.sizes is None else sizes("--sizes", words.sizes),
        alpha_s=None if words.alpha is None else convert("--alpha", words.alpha, parse_duration),
        rail_bytes_per_s=(
            None if words.rail_rate is None else Fraction(convert("--rail-rate", words.rail_rate, parse_rate))
        ),
        messages=_count("--messages", words.messages, least=0, most=MOST_MESSAGES),
        dead_counts=None if words.dead is None else counts("--dead", words.dead),
        samples=_count("--samples", words.samples, least=1, most=MOST_SAMPLES),
        seed=None if words.seed is None else whole_number("--seed", words.seed),
        json=output_file("--json", words.json),
        csv=output_file("--csv", words.csv),
        plot=_picture(what, words.plot),
    )


def _what(text: str) -> str:
    if text in ABOUT:
        return text
    raise UsageError(f"WHAT {text!r} is unknown: there are {', '.join(ABOUT)}")


def _count(option: str, text: str | None, *, least: int, most: int) -> int | None:
    if text is None:
        return None
    count = whole_number(option, text, least=least)
    if count > most:
        raise UsageError(f"{option} {count}: analyze takes up to {most}, give fewer")
    return count


def _check_applicable(what: str, words: Namespace) -> None:
    given = {option for option in _all_case_options() if getattr(words, option[2:].replace("-", "_"))}
    takes = CASE_OPTIONS[what]
    for option in sorted(given - set(takes)):
        instead = f"it takes {', '.join(takes)}" if takes else "it has only --json, --csv and --plot"
        raise UsageError(f"{option} means nothing to {what}, leave it out: {instead}")
    if {"--lost", "--fail"} <= given:
        raise UsageError("--lost and --fail both say what is degraded: give one of them")
    layout = {"--nodes", "--rails"}
    for option in sorted(given - {"--bandwidths"}):
        if "--bandwidths" in given:
            raise UsageError(f"--bandwidths and {option} describe two different clusters: give one of them")
        of_nics = option in {"--fail", "--slow"} or (what == "bound" and option in layout)
        if of_nics and not layout <= given:
            missing = " and ".join(sorted(layout - given))
            raise UsageError(f"{option} means something in a layout only: give {missing} too")
    if words.plot is not None and what == "bound" and given:
        raise UsageError("--plot: bound draws its table over p and X only, leave all other options out")


def _all_case_options() -> set[str]:
    return {option for options in CASE_OPTIONS.values() for option in options}


def _faults(words: Namespace, nodes: int | None, rails: int | None) -> tuple[Fault, ...]:
    texts = [(FaultKind.FAIL, "--fail", "NODE:RAIL", text) for text in words.fail]
    texts += [(FaultKind.SLOW, "--slow", "NODE:RAIL=F", text) for text in words.slow]
    faults = []
    for kind, option, form, text in texts:
        if re.fullmatch(r"\d{1,9}:\d{1,9}(=[\d./]+)?", text, re.ASCII) is None:
            example = "1:0=0.5" if kind is FaultKind.SLOW else "1:0"
            raise UsageError(
                f"{option} {text}: write {form}, for example {option} {example}; here it is so from the "
                "start, with no WHEN"
            )
        faults.append(parse_fault(kind, text))
    twice = sorted(
        {fault.nic for fault in faults if fault.factor is None} & {f.nic for f in faults if f.factor}
    )
    if twice:
        raise UsageError(f"--fail and --slow both name {twice[0]}: a dead rail is not slow, give one of them")
    if nodes is not None and rails is not None:
        check_faults(faults, Layout(nodes, rails), iterations=1, sizes=1)
    return tuple(faults)


def _picture(what: str, target: str | None) -> Path | None:
    if target is None:
        return None
    if what not in PICTURES:
        raise UsageError(
            f"--plot: {what} has no picture, figure17 draws its numbers: r2cc analyze figure17 --plot FILE"
        )
    file = Path(target)
    if file.suffix.lower() not in PICTURE_TYPES:
        raise UsageError(f"--plot {file}: pictures are png or svg, end the name with .png or .svg")
    return Path(str(output_file("--plot", target)))


def _check_outputs_differ(words: Namespace) -> None:
    targets = {option: getattr(words, option[2:]) for option in ("--json", "--csv", "--plot")}
    given = [(option, target) for option, target in targets.items() if target is not None]
    for index, (option, target) in enumerate(given):
        for other, same in given[:index]:
            if target == same:
                raise UsageError(f"{other} {same} and {option} {target} go to the same place: name two")
