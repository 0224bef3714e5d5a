"""Schedules for tests of the simulator: written by hand, and drawn at random."""

from __future__ import annotations

import random
from fractions import Fraction

from algorithms.collective import allreduce
from algorithms.hot_repair import connected_groups, hot_repair_mapping
from algorithms.nic import Nic
from algorithms.schedule import ScheduleBuilder
from analysis.rail_rates import RailRates
from analysis.simulation.failures import Change


def schedule_of(nodes, grid, transfers):
    """Write a schedule from rows (source, target, lo, hi, reduce[, rails]); it need not compute anything."""
    builder = ScheduleBuilder(nodes, grid)
    for source, target, low, high, reduce, *rails in transfers:
        builder.step(
            stage="rows",
            source=source,
            target=target,
            lo=low,
            hi=high,
            reduce=reduce,
            rails=rails[0] if rails else None,
        )
    return builder.build(allreduce(nodes, grid))


def is_connected(nodes, rails, dead):
    """Whether the live rails connect all nodes."""
    return len(connected_groups(nodes, rails, lambda nic: nic not in dead)) == 1


def random_case(seed, *, may_be_dead=True):
    """Draw a small schedule with stripes and rates; some routes are detours, some through a third node."""
    rng = random.Random(seed)
    while True:
        nodes, rails = rng.randint(2, 4), rng.randint(1, 3)
        nics = [Nic(node, rail) for node in range(nodes) for rail in range(rails)]
        dead = rng.sample(nics, rng.randint(0, len(nics) // 2) if rails > 1 and may_be_dead else 0)
        if is_connected(nodes, rails, dead):
            break
    slow = {nic: rng.choice(["1/2", "2/3"]) for nic in rng.sample(nics, rng.choice([0, 1, 2]) % len(nics))}
    rates = RailRates.of(nodes, rails, dead, {nic: Fraction(text) for nic, text in slow.items()})
    rows = []
    for _ in range(rng.randint(1, 10)):
        source, target = rng.sample(range(nodes), 2)
        low, high = sorted(rng.sample(range(5), 2))
        row = (source, target, low, high, rng.random() < 0.5)
        some = rng.sample(range(rails), rng.randint(1, rails))
        rows.append((*row, some) if rng.random() < 0.3 else row)
    return hot_repair_mapping(schedule_of(nodes, 4, rows), rails, dead), rates


def random_changes(seed, rates, whole):
    """Draw what happens to NICs during a time `whole`; live rails go on connecting all nodes."""
    rng = random.Random(seed)
    changes, dead = [], set(rates.dead())
    for _ in range(rng.randint(1, 5)):
        nic = Nic(rng.randrange(rates.nodes), rng.randrange(rates.rails))
        time = whole * Fraction(rng.randint(0, 12), 12)
        after = dead | {nic}
        if rng.random() < 0.7 and is_connected(rates.nodes, rates.rails, after):
            dead = after
            changes.append(Change(time, nic, unnoticed=whole * Fraction(rng.choice([0, 0, 1, 5]), 10)))
        elif nic not in dead:
            changes.append(Change(time, nic, rng.choice([Fraction(1, 3), Fraction(1, 2), Fraction(1)])))
    return changes
