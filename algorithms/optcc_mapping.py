"""Planned rail shares: what one hop takes off a rail, the others leave there (derived here).

The straggler's exchange must use the rails that the straggler still has, so the healthy ring has to leave
room there and carry more on the rails that the straggler lost. Striping every transfer evenly instead makes
the common rails the busiest: max(l, (2(p-2)+l)/(p-1)) in place of OptCC's max(l, (2p-3)/(p-1)).

The rule: the hops are filled in one after the other, those with the least choice first. Each pours its
traffic over its rails like water into a vessel whose floor is what is already there, at the busier end of
each rail: up to a common level, and nothing on a rail that stands higher. With one straggler this comes to:

- the straggler's hops: its live rails, in proportion to their rates;
- the healthy ring: so much that all rails of a healthy node are equally busy, with
  (2m-1)/(m g) of the data on each of g rails, m = p-1, of which 1/(m (g-f)) on each of the g-f common ones is
  the straggler's. Beyond l = 2p-3 that cannot be, and the ring keeps to the f rails that the straggler lost.

It does as well for the mixture, whose plain ring passes the straggler too.

Not handled here: with several stragglers the rule is a sensible one, not always the best one, and a hop whose
ends have no live rail in common is refused (`algorithms.balance` finds detours).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from algorithms.nic import Hop, Nic
from algorithms.schedule import Schedule
from algorithms.shares import HopKind, Share, hop_kinds, stripes_by_shares, whole_weights
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError

Rates = Sequence[Sequence[Fraction]]
"""`rates[node][rail]`: what each NIC can carry in each direction, in any unit; 0 for a dead one."""


def optcc_mapping(schedule: Schedule, rates: Rates) -> Stripes:
    """Spread the transfers over rails such that the rails of every node end up equally busy.

    Shares are exact on a refined grid, or rounded to less than a step of the finest grid there is.

    Args:
        schedule: What to map; any one, but planned for those of OptCC.
        rates: `rates[node][rail]`, what each NIC can carry in each direction, in any unit; 0 for a dead one.

    Returns:
        The stripes, those of one transfer in the order of their rails, each going straight over its home
        rail.

    Raises:
        ScheduleError: The rates are no table of one row per node, a transfer asks for a rail that does not
            exist, or the two ends of one have no live rail in common among those it may use.
    """
    rails = _check(rates, schedule.nodes)
    traffic = _traffic(schedule, rails)
    speeds = {hop: _speeds(hop, rates) for hop in traffic}
    every_nic = [Nic(node, rail) for node in range(schedule.nodes) for rail in range(rails)]
    sending, receiving = dict.fromkeys(every_nic, Fraction(0)), dict.fromkeys(every_nic, Fraction(0))
    shares: dict[HopKind, list[Share]] = {}
    for hop in sorted(traffic, key=lambda one: (sum(speeds[one].values()), one)):
        speed = speeds[hop]
        floor = {r: max(sending[Nic(hop.source, r)], receiving[Nic(hop.target, r)]) for r in speed}
        parts = pour(traffic[hop], speed, floor)
        for rail, part in parts.items():
            sending[Nic(hop.source, rail)] += part / speed[rail]
            receiving[Nic(hop.target, rail)] += part / speed[rail]
        shares[hop] = _as_shares(parts, hop.target)
    return stripes_by_shares(schedule, rails, shares.__getitem__)


def pour(amount: Fraction, speed: dict[int, Fraction], floor: dict[int, Fraction]) -> dict[int, Fraction]:
    """Spread an amount over rails such that those that get some are equally long busy, others longer already.

    Args:
        amount: What to spread, above zero.
        speed: What each rail carries per unit of time, above zero.
        floor: How long each rail is busy without it.

    Returns:
        What each rail gets, if anything.

    >>> half = Fraction(1, 2)
    >>> pour(Fraction(1), {0: half, 1: half, 2: half}, {0: Fraction(0), 1: Fraction(1), 2: Fraction(5)})
    {0: Fraction(3, 4), 1: Fraction(1, 4)}
    """
    volume, width, level = amount, Fraction(0), Fraction(0)
    for rail in sorted(speed, key=lambda one: (floor[one], one)):
        if width and level <= floor[rail]:
            break
        volume += speed[rail] * floor[rail]
        width += speed[rail]
        level = volume / width
    return {rail: speed[rail] * (level - floor[rail]) for rail in speed if floor[rail] < level}


def _traffic(schedule: Schedule, rails: int) -> dict[HopKind, Fraction]:
    """Add up what each kind of hop carries, in units of the data."""
    kinds, kind = hop_kinds(schedule, rails)
    atoms = np.zeros(len(kinds), np.int64)
    np.add.at(atoms, kind, schedule.columns.source_hi.astype(np.int64) - schedule.columns.source_lo)
    return {one: Fraction(amount, schedule.grid) for one, amount in zip(kinds, atoms.tolist(), strict=True)}


def _speeds(hop: HopKind, rates: Rates) -> dict[int, Fraction]:
    """Say what each rail can carry for a hop, which is what the slower of its two NICs can."""
    here, there = rates[hop.source], rates[hop.target]
    speed = {rail: min(here[rail], there[rail]) for rail in hop.allowed if here[rail] and there[rail]}
    if not speed:
        raise ScheduleError(
            f"nodes {hop.source} and {hop.target} must talk and have no live rail in common among "
            f"{list(hop.allowed)}: use balance, which finds detours"
        )
    return speed


def _as_shares(parts: dict[int, Fraction], target: int) -> list[Share]:
    unit = math.lcm(*(part.denominator for part in parts.values()))
    weights = whole_weights([int(part * unit) for part in parts.values()])
    return [Share(rail, (Hop(rail, target),), weight) for rail, weight in zip(parts, weights, strict=True)]


def _check(rates: Rates, nodes: int) -> int:
    """Return the number of rails."""
    widths = {len(of_node) for of_node in rates}
    if len(rates) != nodes or len(widths) != 1 or 0 in widths:
        raise ScheduleError(
            f"rates of {len(rates)} nodes with {sorted(widths)} rails: "
            f"give {nodes} nodes of equally many rails"
        )
    for node, of_node in enumerate(rates):
        for rail, rate in enumerate(of_node):
            if rate < 0:
                raise ScheduleError(f"{Nic(node, rail)}: a rate below zero")
    return widths.pop()
