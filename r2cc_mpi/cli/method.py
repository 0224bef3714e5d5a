"""How a job measures: nccl-tests' options about iterations and about which time is reported."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from enum import IntEnum

from r2cc_mpi.cli.units import parse_seconds
from r2cc_mpi.cli.values import convert, one_of, switch, whole_number
from r2cc_mpi.errors import UsageError


class Average(IntEnum):
    """Which rank's time the table reports (`-a`)."""

    FIRST = 0
    MEAN = 1
    SHORTEST = 2
    LONGEST = 3


@dataclass(frozen=True)
class Method:
    """How a job measures.

    Attributes:
        iterations: Timed iterations of each size and placing, at least 1.
        warmup_iterations: Iterations before those.
        calls: Calls of an iteration, whose time is divided by their number.
        cycles: How often all sizes are run, at least 1.
        check: Whether every element of every iteration is checked.
        average: Which rank's time is reported.
        per_iteration: Whether the table and the JSON report tell iterations apart.
        skipped: First iterations that the statistics of iterations leave out, fewer than there are.
        timestamps: Whether rows say when they were done.
        time_limit_s: Seconds after which a call is given up, or None.
        persistent: Whether the calls replay a plan that is made once for each size.
    """

    iterations: int = 20
    warmup_iterations: int = 1
    calls: int = 1
    cycles: int = 1
    check: bool = True
    average: Average = Average.MEAN
    per_iteration: bool = False
    skipped: int = 0
    timestamps: bool = False
    time_limit_s: float | None = None
    persistent: bool = False


def read_method(words: Namespace) -> Method:
    """Read the options.

    Args:
        words: What the parser found.

    Raises:
        UsageError: One is no number, or out of range.
    """
    iterations = whole_number("-n", words.iters, least=1)
    skipped = whole_number("-K", words.per_iter_skip)
    if skipped >= iterations:
        raise UsageError(f"-K {skipped} leaves none of {iterations} iterations (-n): leave out fewer")
    if words.run_cycles == "0":
        raise UsageError("-N 0 would run for ever and never come to a verdict: give a number of cycles")
    limit = None if words.timeout in {None, "0"} else convert("-T", words.timeout, parse_seconds)
    return Method(
        iterations=iterations,
        warmup_iterations=whole_number("-w", words.warmup_iters),
        calls=whole_number("-m", words.agg_iters, least=1),
        cycles=whole_number("-N", words.run_cycles, least=1),
        check=switch("-c", words.check),
        average=Average(int(one_of("-a", words.average, [str(one.value) for one in Average]))),
        per_iteration=switch("-I", words.per_iter_timing),
        skipped=skipped,
        timestamps=switch("-S", words.report_timestamps),
        time_limit_s=limit,
        persistent=words.persistent,
    )
