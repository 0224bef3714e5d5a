"""A mapped schedule as tasks: each hop of each stripe occupies two ports for a while, then the stripe lands.

A NIC has two *ports*, one for each direction. A hop occupies the send port of the NIC it leaves through and
the receive port of the NIC it arrives at, both for alpha + bytes / (the slower of the two rates). The last
task of a stripe is its *landing*: what arrived is added or copied into the target's buffer.

Inside a node everything is free, unless the rules give the node a rate: then its memory is one more port, and
it is occupied by every landing and by every hand-over, where a stripe leaves by another rail than it came (or
than its home).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from algorithms.columns import IntColumn, compress
from algorithms.nic import Nic, Route
from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError
from analysis.rail_rates import RailRates

Rows = NDArray[np.bool_]

NONE = -1
"""No port, no task, no rate."""


@dataclass(frozen=True)
class Ports:
    """Numbers of the ports of a cluster: two for each NIC, then the memories of the nodes."""

    nodes: int
    rails: int

    @property
    def count(self) -> int:
        """How many ports there are."""
        return 2 * self.nodes * self.rails + self.nodes

    def sending(self, nic: Nic) -> int:
        """Port through which a NIC sends."""
        return 2 * (nic.node * self.rails + nic.rail)

    def receiving(self, nic: Nic) -> int:
        """Port through which it receives."""
        return self.sending(nic) + 1

    def memory(self, node: int) -> int:
        """The memory of a node."""
        return 2 * self.nodes * self.rails + node

    def nic(self, port: int) -> Nic | None:
        """The NIC that a port belongs to; None for a memory."""
        number = port // 2
        return Nic(*divmod(number, self.rails)) if number < self.nodes * self.rails else None

    def describe(self, port: int) -> str:
        """Name a port for people."""
        nic = self.nic(port)
        if nic is None:
            return f"node {port - self.memory(0)} memory"
        return f"{nic} {'receive' if port % 2 else 'send'}"


@dataclass(frozen=True, eq=False)
class Tasks:
    """All tasks, in program order of their stripes, those of one stripe in the order in which they happen.

    Attributes:
        stripes: What the tasks carry out.
        ports: The ports there are.
        first: Per stripe its first task. Like all columns an int32 array.
        landing: Per stripe its landing, which is its last task.
        channel: Per stripe a number for its channel and route.
        stripe: Per task its stripe.
        one: Per task the port it occupies (a hop: the one that sends), or NONE.
        other: The second port (a hop: the one that receives), or the same again.
        rate: Per task an index into `rates`, or NONE if it takes no time.
        rates: Table of rates, in units of B.
        is_hop: Per task whether it is a hop, which costs alpha.
    """

    stripes: Stripes
    ports: Ports
    first: IntColumn
    landing: IntColumn
    channel: IntColumn
    stripe: IntColumn
    one: IntColumn
    other: IntColumn
    rate: IntColumn
    rates: tuple[Fraction, ...]
    is_hop: Rows

    def __len__(self) -> int:
        return len(self.stripe)

    def describe(self, task: int) -> str:
        """Name a task for people, with its stripe and transfer."""
        stripe = int(self.stripe[task])
        what = "landing" if task == self.landing[stripe] else f"task {task - int(self.first[stripe])}"
        return f"{what} of {self.stripes[stripe]}"


@dataclass(frozen=True)
class _Step:
    """One task of every stripe that takes a certain path; `rate` None takes no time."""

    one: int
    other: int
    rate: Fraction | None
    is_hop: bool


def tasks_of(
    stripes: Stripes, rates: RailRates, node_rate: Fraction | None = None, has_arrived: Rows | None = None
) -> Tasks:
    """Break stripes up into tasks.

    Args:
        stripes: The mapped schedule.
        rates: What every NIC can carry.
        node_rate: What a node's memory can carry, or None if that is free.
        has_arrived: Stripes that need their route no more, so that it may be dead; None: all need it.

    Raises:
        ScheduleError: The stripes are not for such a cluster, do not carry each transfer once, or one of them
            goes through a dead NIC; names the first such transfer.
    """
    _check_cluster(stripes, rates)
    _check_complete(stripes)
    ports = Ports(rates.nodes, rates.rails)
    paths, path = stripes.paths()
    keys, channel = compress(path.astype(np.int64) * stripes.rails + stripes.home, len(paths) * stripes.rails)
    templates, dead = [], np.zeros(len(keys), np.bool_)
    for index, key in enumerate(keys):
        (source, route), home = paths[key // stripes.rails], key % stripes.rails
        template = _template(source, route, home, ports, rates, node_rate)
        dead[index] = any(step.rate == 0 for step in template)
        templates.append(template)
    if dead.any():
        stuck = dead[channel] if has_arrived is None else dead[channel] & ~has_arrived
        if stuck.any():
            raise ScheduleError(f"{stripes[int(np.argmax(stuck))]}: goes through a NIC that is dead")
    return _lay_out(stripes, ports, channel, templates)


def _template(
    source: int, route: Route, home: int, ports: Ports, rates: RailRates, node_rate: Fraction | None
) -> list[_Step]:
    """Write down the tasks of any stripe of one path."""
    steps = []
    here, came_by = source, home

    def pass_memory(node: int) -> None:
        steps.append(_Step(ports.memory(node), ports.memory(node), node_rate, is_hop=False))

    for hop in route:
        departure, arrival = Nic(here, hop.rail), Nic(hop.node, hop.rail)
        if node_rate is not None and hop.rail != came_by:
            pass_memory(here)
        rate = min(rates.rate(departure), rates.rate(arrival))
        steps.append(_Step(ports.sending(departure), ports.receiving(arrival), rate, is_hop=True))
        here, came_by = hop.node, hop.rail
    if node_rate is None:
        steps.append(_Step(NONE, NONE, None, is_hop=False))
        return steps
    if came_by != home:
        pass_memory(here)
    pass_memory(here)
    return steps


def _lay_out(stripes: Stripes, ports: Ports, channel: IntColumn, templates: list[list[_Step]]) -> Tasks:
    """Write out the tasks of each stripe by the template of its channel."""
    steps = [step for template in templates for step in template]
    table = tuple(sorted({step.rate for step in steps if step.rate is not None}))
    number: dict[Fraction | None, int] = {rate: index for index, rate in enumerate(table)} | {None: NONE}
    lengths = np.array([len(template) for template in templates], np.int32)
    begins = np.cumsum(lengths, dtype=np.int32) - lengths

    # int32 throughout: there are fewer tasks than that, and millions of them should fit a small machine.
    tasks_of_stripe = lengths[channel]
    landing = np.cumsum(tasks_of_stripe, dtype=np.int32) - np.int32(1)
    first = landing - tasks_of_stripe + np.int32(1)
    stripe = np.repeat(np.arange(len(stripes), dtype=np.int32), tasks_of_stripe)
    step = np.arange(len(stripe), dtype=np.int32) + (begins[channel] - first)[stripe]

    def column(values: list[int]) -> IntColumn:
        return np.array(values, np.int32)[step]

    return Tasks(
        stripes=stripes,
        ports=ports,
        first=first,
        landing=landing,
        channel=channel,
        stripe=stripe,
        one=column([one.one for one in steps]),
        other=column([one.other for one in steps]),
        rate=column([number[one.rate] for one in steps]),
        rates=table,
        is_hop=np.array([one.is_hop for one in steps], np.bool_)[step],
    )


def _check_cluster(stripes: Stripes, rates: RailRates) -> None:
    nodes = stripes.schedule.nodes
    if (nodes, stripes.rails) != (rates.nodes, rates.rails):
        raise ScheduleError(
            f"stripes for {nodes} nodes with {stripes.rails} rails cannot run on a cluster of {rates.nodes} "
            f"nodes with {rates.rails} rails"
        )


def _check_complete(stripes: Stripes) -> None:
    """Compare bytes, transfer by transfer; `verify.check_stripes` looks at everything else."""
    columns = stripes.schedule.columns
    scale = stripes.grid // stripes.schedule.grid
    wanted = (columns.source_hi - columns.source_lo).astype(np.int64) * scale
    lengths = (stripes.source_hi - stripes.source_lo).astype(np.int64)
    carried = np.bincount(stripes.transfer, weights=lengths, minlength=len(wanted)).astype(np.int64)
    wrong = carried != wanted
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ScheduleError(
            f"{stripes.schedule[row]}: its stripes carry {carried[row]} of {wanted[row]} atoms; "
            "verify.check_stripes tells more"
        )
