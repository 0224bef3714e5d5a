"""The simulator: how long a schedule takes, port by port, on a cluster whose NICs may be dead or slow.

Where the closed forms count bytes on the busiest NIC, this plays every stripe: it waits for its hazards, for
its channel and for its ports, then occupies the two ports of each hop for alpha + bytes/rate, and lands once
the hazards at the target are clear. Time is in D/B, exact: a closed form that holds is equal, not close.

>>> from algorithms.ring import ring_allreduce
>>> from algorithms.stripes import healthy_mapping
>>> simulate(healthy_mapping(ring_allreduce(4), rails=2)).completion
Fraction(3, 2)

Not handled: a stripe moves as a whole, so one that is passed on by a relay has to arrive there first, where
the executor's chunks follow each other (cut the stripes finer for that: `analysis.simulation.chunks`); a hop
takes both its ports at once, where those of real ranks queue, and landing slots are never scarce, where a
channel of the executor has eight (for both: `analysis.simulation.executor`); adding up a node's own ranks
before and copying out after; a receive port is held for as long as a slow sender takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from algorithms.stripes import Stripes
from analysis.rail_rates import RailRates
from analysis.simulation import clock, critical_path, fluid
from analysis.simulation.critical_path import Link
from analysis.simulation.order import Order, order_of
from analysis.simulation.ports import play
from analysis.simulation.rules import Gate, PortRule, Rules
from analysis.simulation.tasks import NONE, Tasks, tasks_of
from analysis.simulation.timeline import Interval, PortUse, Timeline

__all__ = ["Gate", "Interval", "PortRule", "PortUse", "Rules", "Simulation", "Timeline", "simulate"]

DEFAULT = Rules()


@dataclass(frozen=True, eq=False)
class Simulation(Timeline):
    """A timeline that knows why things happened when they did.

    Attributes:
        tasks: All tasks.
        order: What they waited for.
        task_start: Per task when it started, in ticks.
        task_end: Per task when it ended.
    """

    tasks: Tasks
    order: Order
    task_start: clock.Ticks
    task_end: clock.Ticks

    def critical_path(self) -> list[Link]:
        """Follow what ended last back to the beginning, each task waiting for the one before."""
        return critical_path.critical_path(self.tasks, self.order, self.task_start, self.task_end)


def simulate(stripes: Stripes, rates: RailRates | None = None, rules: Rules = DEFAULT) -> Simulation:
    """Play a schedule.

    Args:
        stripes: The schedule, mapped to rails.
        rates: What every NIC can carry; None: all are healthy.
        rules: Alpha, who may use a port next, what hazards hold back, and what a node's memory can carry.

    Returns:
        What happened.

    Raises:
        ScheduleError: The stripes are not for this cluster, do not carry each transfer once, go through a NIC
            that is dead, or wait for each other for ever; names the first such transfer.
    """
    if rates is None:
        rates = RailRates.of(stripes.schedule.nodes, stripes.rails)
    tasks = tasks_of(stripes, rates, rules.node_rate)
    order = order_of(tasks, rules)
    if rules.port is PortRule.FAIR:
        unit, start, end = fluid.share_ports(tasks, order, rates, rules.alpha)
    else:
        unit = clock.choose(tasks, tasks.rates, rules.alpha)
        start, end = play(tasks, order, clock.measure(tasks, rules.alpha, unit))
    uses_ports = tasks.one != NONE
    stripe = tasks.stripe[uses_ports]
    lengths = (stripes.source_hi - stripes.source_lo).astype(np.int64)
    return Simulation(
        stripes=stripes,
        ports=tasks.ports,
        clock=unit,
        stripe=stripe,
        one=tasks.one[uses_ports],
        other=tasks.other[uses_ports],
        start=start[uses_ports],
        end=end[uses_ports],
        atoms=lengths[stripe] * tasks.is_hop[uses_ports],
        is_lost=np.zeros(len(stripe), np.bool_),
        landed=end[tasks.landing],
        tasks=tasks,
        order=order,
        task_start=start,
        task_end=end,
    )
