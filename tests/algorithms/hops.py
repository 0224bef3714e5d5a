"""Small networks and single transfers, to look at how one hop is cut into stripes."""

from __future__ import annotations

from fractions import Fraction

from algorithms.collective import Collective
from algorithms.nic import Nic
from algorithms.schedule import ScheduleBuilder


def rates_with_dead(nodes, rails, *dead):
    """Rates of NICs that carry 1, or 0 where dead."""
    return [[Fraction((node, rail) not in dead) for rail in range(rails)] for node in range(nodes)]


def dead_nics(rates):
    """List the NICs whose rate is zero."""
    return frozenset(
        Nic(i, r) for i, of_node in enumerate(rates) for r, rate in enumerate(of_node) if not rate
    )


def one_transfer(grid=1, lo=0, hi=1, nodes=2, rails=None):
    """Make a schedule of a single transfer from node 0 to node 1."""
    builder = ScheduleBuilder(nodes, grid)
    builder.step(stage="test", source=0, target=1, lo=lo, hi=hi, reduce=True, rails=rails)
    return builder.build(Collective("any", (), ()))


def parts_of(stripes):
    """Per stripe: home rail, where it begins and ends in units of the data, and its route."""
    return [
        (one.home, *(Fraction(at, stripes.grid) for at in one.source_region), one.route) for one in stripes
    ]
