"""What a command line asks of the plan: strategy, pieces, shares, form."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction

from algorithms.catalogue import OPTCC_FORMS
from algorithms.r2cc_allreduce import FORMS
from r2cc_mpi.cli.values import convert, one_of, parse_share, whole_number
from r2cc_mpi.creation import MOST_PIECES
from r2cc_mpi.errors import UsageError
from r2cc_mpi.faults import Declared, Fault
from r2cc_mpi.planning import Wishes, slow_from_the_start
from r2cc_mpi.strategy import Strategy

STRATEGIES = tuple(strategy.label for strategy in Strategy)
FORMS_OF = {Strategy.R2CC_ALLREDUCE: FORMS, Strategy.OPTCC: OPTCC_FORMS}
HAS_PIECES = (Strategy.R2CC_ALLREDUCE, Strategy.OPTCC, Strategy.NESTED_OPTCC)


def read_wishes(words: Namespace, rail_rate: float | None, faults: Sequence[Fault]) -> Wishes:
    """Read the options that the plan depends on.

    Args:
        words: What the parser found.
        rail_rate: Rate of a rail in bytes per second, or None.
        faults: The failures of the run; rails that are slow from the start are planned for.

    Raises:
        UsageError: Naming the option.
    """
    strategy = Strategy.parse(one_of("--strategy", words.strategy, STRATEGIES))
    for option, value, meant_for in (
        ("--pieces", words.pieces, HAS_PIECES),
        ("--partial", words.partial, (Strategy.R2CC_ALLREDUCE,)),
        ("--form", words.form, tuple(FORMS_OF)),
    ):
        if value is not None and strategy not in meant_for:
            names = " or ".join(one.label for one in meant_for)
            raise UsageError(f"{option} says how to run {names}: give that --strategy too")
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
        None if words.partial is None else convert("--partial", words.partial, parse_share),
        None if words.form is None else one_of("--form", words.form, FORMS_OF[strategy]),
        None if rail_rate is None else Fraction(rail_rate),
        slow_from_the_start(slow),
    )
