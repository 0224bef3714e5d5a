"""`r2cc verify`: the symbolic oracle on one case, or on many (`--all`)."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.re_ranking import common_capacity, re_rank
from algorithms.transfer import ScheduleError
from analysis.rail_rates import RailRates
from r2cc_mpi.cli.cluster import read_cluster, rings_of
from r2cc_mpi.cli.report_json import JsonObject, write_json
from r2cc_mpi.cli.values import convert, one_of, parse_share, whole_number
from r2cc_mpi.cli.verify_matrix import matrix
from r2cc_mpi.cli.verify_parser import DEFAULT_NODES, DEFAULT_RAILS
from r2cc_mpi.cli.verify_report import Proof, describe, prove, to_json, to_line, to_lines
from r2cc_mpi.errors import UsageError, WrongResultError

CASE_OPTIONS = ("nodes", "rails", "fail", "slow", "re_rank", "pieces", "partial", "form", "sub_pieces")
"""What describes one case; `--all` brings its own."""


def run(words: Namespace) -> int:
    """Prove one case or many, and print what was found.

    Args:
        words: What the parser found.

    Returns:
        0.

    Raises:
        UsageError: An option is wrong, or the algorithm cannot serve the case.
        WrongResultError: The oracle found a fault; names the transfer.
    """
    if words.algorithm is not None:
        one_of("ALGORITHM", words.algorithm, tuple(ALGORITHMS))
    if words.all:
        given = [name for name in CASE_OPTIONS if getattr(words, name)]
        if given:
            raise UsageError(f"--all brings its own cases: leave out --{given[0].replace('_', '-')}")
        return _run_all([words.algorithm] if words.algorithm else list(ALGORITHMS), words.json)
    if words.algorithm is None:
        raise UsageError(f"say what to verify: {', '.join(ALGORITHMS)}, or --all")
    return _run_one(words)


def _run_one(words: Namespace) -> int:
    rates = read_cluster(words.nodes or DEFAULT_NODES, words.rails or DEFAULT_RAILS, words.fail, words.slow)
    case = _case(words, rates)
    if words.algorithm == "nested-optcc":
        case = replace(case, rings=rings_of(rates))
    try:
        stripes = ALGORITHMS[words.algorithm](case)
    except ScheduleError as error:
        raise UsageError(str(error)) from error
    try:
        proof = prove(words.algorithm, case, stripes)
    except ScheduleError as error:
        if words.json is not None:
            write_json({**describe(words.algorithm, case), "correct": False, "fault": str(error)}, words.json)
        raise WrongResultError(str(error)) from error
    _print(to_lines(proof), words.json)
    if words.json is not None:
        write_json(to_json(proof), words.json)
    return 0


def _run_all(algorithms: Iterable[str], json: str | None) -> int:
    found: list[Proof | JsonObject] = []
    wrong: list[str] = []
    for algorithm, case in matrix(algorithms):
        try:
            proof = prove(algorithm, case, ALGORITHMS[algorithm](case))
        except ScheduleError as error:
            wrong.append(f"{algorithm}: {error}")
            found.append({**describe(algorithm, case), "correct": False, "fault": str(error)})
            _print([f"WRONG {to_line(algorithm, case)}: {error}"], json)
            continue
        found.append(proof)
        _print([f"ok    {to_line(algorithm, case, proof)}"], json)
    _print([f"# {len(found)} cases, {len(wrong)} wrong"], json)
    if json is not None:
        cases = [to_json(one) if isinstance(one, Proof) else one for one in found]
        write_json({"cases": cases, "wrong": len(wrong)}, json)
    if wrong:
        raise WrongResultError(f"{len(wrong)} of {len(found)} cases are wrong, the first one {wrong[0]}")
    return 0


def _case(words: Namespace, rates: RailRates) -> Case:
    return Case(
        rates=rates.rates,
        order=re_rank(common_capacity(rates.rates)) if words.re_rank else None,
        pieces=None if words.pieces is None else whole_number("--pieces", words.pieces, least=1),
        partial=None if words.partial is None else convert("--partial", words.partial, parse_share),
        form=words.form,
        sub_pieces=1 if words.sub_pieces is None else whole_number("--sub-pieces", words.sub_pieces, least=1),
    )


def _print(lines: Iterable[str], json: str | None) -> None:
    # Who reads the document from standard output wants nothing else there.
    print("\n".join(lines), file=sys.stderr if json == "-" else sys.stdout, flush=True)
