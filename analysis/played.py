"""Which form of OptCC is the fastest on real ranks: each is played chunk by chunk, as the ranks send it.

In the closed forms segments follow each other as a whole, and every rail takes its best share. On ranks
chunks flow through the steps one by one, ports queue, and shares are what the mapping makes of the rails: a
form takes up to a third less than its formula says, or some per cent more. Where two forms are near each
other, the formulas may put them in the wrong order. What messages cost is left to the formulas
(`analysis.with_alpha`): playing counts bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError
from analysis import cost_model
from analysis.candidates import Candidate, find_straggler
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import nearly_chunked
from analysis.simulation.executor import executed_time

MOST_CHUNKS = 12_000
"""So many of one form are played in a tenth of a second; if one has more, the formulas decide."""


@dataclass(frozen=True)
class Chunking:
    """How ranks send stripes.

    Attributes:
        size: Of a chunk, in D.
        window: Chunks of a channel that may be captured and not yet applied.
    """

    size: Fraction
    window: int


def played_time(stripes: Stripes, rates: RailRates, chunking: Chunking) -> Fraction:
    """Play stripes as ranks send them.

    Args:
        stripes: The mapped schedule, without detours.
        rates: What every NIC can carry.
        chunking: How they are sent, or nearly so (`nearly_chunked`).

    Returns:
        The time in D/B.

    Raises:
        ScheduleError: See `executed_time`.
    """
    return executed_time(nearly_chunked(stripes, chunking.size), rates, chunking.window)


def played_forms(
    forms: Sequence[Candidate], rates: RailRates, chunking: Chunking, most: int = MOST_CHUNKS
) -> list[Candidate]:
    """Put what is played in the place of the formulas.

    Args:
        forms: Those of OptCC around one straggler, with their times by formula.
        rates: What every NIC can carry.
        chunking: How ranks send them.
        most: Chunks that one form may have.

    Returns:
        The same forms, `played` in their notes: what each takes by playing, and its messages by formula. As
        they were, if one of them has too many chunks or needs too fine a grid: only equals are compared.
    """
    if any(_chunks(one, rates, chunking) > most for one in forms):
        return list(forms)
    try:
        return [_played(one, rates, chunking) for one in forms]
    except ScheduleError:
        return list(forms)


def _chunks(form: Candidate, rates: RailRates, chunking: Chunking) -> Fraction:
    """At most so many: a part of a chunk for each message, and whole ones for the bytes."""
    p = rates.nodes
    messages = 2 * p - 3 + (2 * (p - 1) if form.form == "mixture" else 0)
    return p * (messages * (form.pieces or 1) * rates.rails + Fraction(2) / chunking.size)


def _played(form: Candidate, rates: RailRates, chunking: Chunking) -> Candidate:
    straggler = find_straggler(rates)
    assert straggler is not None
    assert form.time is not None
    stripes = ALGORITHMS["optcc"](Case(rates.rates, pieces=form.pieces, form=form.form, pairs_of_ports=False))
    of_messages = form.time - cost_model.optcc(rates.nodes, straggler.lost, form.pieces, form.form)
    return replace(form, time=played_time(stripes, rates, chunking) + of_messages, note="played")
