"""The planner: which scheme an AllReduce should run with, given the health of the cluster.

A pure function of exact numbers, so that every rank comes to the same decision by itself and nothing of it
has to be sent. It compares all schemes, also those that this version cannot run: these are predictions, and
the choice is made among the others. The rules of thumb of the papers (from how many pieces on a chain beats
Balance, from which loss on a second stage pays) are not written down here; they follow from the times.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from analysis import candidates, rail_bound
from analysis.candidates import Candidate
from analysis.errors import ModelError
from analysis.played import Chunking, played_forms
from analysis.rail_bound import RailBound
from analysis.rail_rates import RailRates

BUILT = frozenset({"ring", "hot-repair", "balance", "r2cc-allreduce", "optcc", "nested-optcc"})
"""Schemes that exist as schedules in this version."""


@dataclass(frozen=True)
class Plan:
    """A decision and what it rests on. Times are in units of D/B.

    Attributes:
        candidates: All schemes, the fastest first; those that cannot serve the cluster at the end.
        bound: T*, what no scheme can beat on these rails.
        chosen: The fastest of those that this version runs.
        reason: Why, in a line for people.
    """

    candidates: tuple[Candidate, ...]
    bound: RailBound
    chosen: Candidate
    reason: str

    def gap(self, candidate: Candidate) -> Fraction | None:
        """Return by which fraction a scheme's time exceeds T*; None if it or the bound has no value."""
        if candidate.time is None or not self.bound.time:
            return None
        return candidate.time / self.bound.time - 1


def plan(
    rates: RailRates,
    *,
    alpha: Fraction,
    built: Collection[str] = BUILT,
    chunking: Chunking | None = None,
) -> Plan:
    """Compare all schemes for one AllReduce and choose one.

    Args:
        rates: What each NIC can carry.
        alpha: Cost of one message in units of D/B (seconds times B/D); grows as messages get smaller.
        built: Schemes to choose among.
        chunking: How ranks send what is chosen: forms of OptCC, which are near each other, are then played
            (`analysis.played`). None: the models decide alone.

    Returns:
        The plan. Two callers with equal arguments get equal plans.

    Raises:
        ModelError: The live rails do not connect all nodes, or alpha is negative.
    """
    if alpha < 0:
        raise ModelError(f"alpha {alpha}: the cost of a message cannot be negative")
    groups = rates.groups()
    if len(groups) > 1:
        apart = " | ".join(", ".join(map(str, group)) for group in groups)
        raise ModelError(f"live rails do not connect all nodes: {apart}; no scheme can serve them")
    everything = [one for scheme in candidates.SCHEMES for one in scheme(rates, alpha)]
    forms = [one for one in everything if one.scheme == "optcc" and one.time is not None]
    if chunking is not None and forms:
        everything = [one for one in everything if one not in forms]
        everything += played_forms(forms, rates, chunking)
    possible = [one for one in everything if one.time is not None]
    possible.sort(key=_time)
    impossible = [one for one in everything if one.time is None]
    runs = [one for one in possible if one.scheme in built]
    chosen = runs[0] if runs else None
    if chosen is None:
        raise ModelError(f"none of {', '.join(sorted(built))} can serve this cluster")
    return Plan((*possible, *impossible), rail_bound.optimum(rates), chosen, _reason(rates, possible, runs))


def _time(candidate: Candidate) -> Fraction:
    assert candidate.time is not None
    return candidate.time


def _reason(rates: RailRates, possible: list[Candidate], runs: list[Candidate]) -> str:
    chosen = runs[0]
    if min(rates.bandwidths()) == 1:
        reason = f"every rail is healthy, and {chosen.name} needs no other"
    else:
        reason = f"{chosen.name} is the fastest to choose from"
        if runs[1:]:
            reason += f"; next is {runs[1].name} at {_ratio(runs[1], chosen)} of its time"
    if (best := possible[0]) is not chosen and _time(best) < _time(chosen):
        reason += f"; {best.name}, by its model {_ratio(best, chosen)} of its time, is not among them"
    return reason


def _ratio(one: Candidate, other: Candidate) -> str:
    return f"{float(_time(one) / _time(other)):.3f}" if _time(other) else "1"
