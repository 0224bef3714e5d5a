"""What a command line asks of the plan: strategy, pieces, shares, form."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction

from algorithms.r2cc_allreduce import FORMS
from r2cc_mpi.cli.values import one_of, whole_number
from r2cc_mpi.creation import MOST_PIECES
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Declared, Fault
from r2cc_mpi.planning import Wishes, slow_from_the_start
from r2cc_mpi.strategy import Strategy

STRATEGIES = tuple(strategy.label for strategy in Strategy)
LATER_STRATEGIES = ("optcc", "nested-optcc")


def read_wishes(words: Namespace, rail_rate: float | None, faults: Sequence[Fault]) -> Wishes:
    """Read the options that the plan depends on.

    Args:
        words: What the parser found.
        rail_rate: Rate of a rail in bytes per second, or None.
        faults: The failures of the run; rails that are slow from the start are planned for.

    Raises:
        UsageError: Naming the option.
    """
    strategy = Strategy.parse(one_of("--strategy", words.strategy, STRATEGIES, LATER_STRATEGIES))
    given = {"--pieces": words.pieces, "--partial": words.partial, "--form": words.form}
    for option, value in given.items():
        if value is not None and strategy is not Strategy.R2CC_ALLREDUCE:
            raise UsageError(f"{option} says how to run r2cc-allreduce: give --strategy r2cc-allreduce too")
    pieces = None if words.pieces is None else whole_number("--pieces", words.pieces, least=1)
    if pieces is not None and pieces > MOST_PIECES:
        raise UsageError(f"--pieces {pieces}: give at most {MOST_PIECES}")
    slow = {
        fault.nic: fault.factor
        for fault in faults
        if fault.factor is not None and fault.trigger == Declared()
    }
    return Wishes(
        strategy,
        pieces,
        None if words.partial is None else _share(words.partial),
        one_of("--form", words.form or FORMS[0], FORMS),
        None if rail_rate is None else Fraction(rail_rate),
        slow_from_the_start(slow),
    )


def _share(text: str) -> Fraction:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise UsageError(f"--partial {text!r} is no share: write for example --partial 1/3 or 0.25")
    return share
