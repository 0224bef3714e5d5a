"""What must hold in every timeline, whatever the schedule and whatever failed."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from algorithms.nic import Nic


class TimelineError(AssertionError):
    """A timeline breaks a rule of the network."""


def check_ports(timeline):
    """Each port serves one stripe at a time."""
    for port in range(timeline.ports.count):
        free_at = Fraction(0)
        for begin, end, stripe in timeline.intervals(port):
            if begin < free_at or end < begin:
                raise TimelineError(f"{timeline.ports.describe(port)}: stripe {stripe} overlaps another one")
            free_at = end


def check_journeys(timeline):
    """The hops of a stripe that were not lost lead from its source to its target, one after the other."""
    rows = defaultdict(list)
    for row in range(len(timeline.stripe)):
        if not timeline.is_lost[row] and timeline.atoms[row]:
            rows[int(timeline.stripe[row])].append(row)
    for index, stripe in enumerate(timeline.stripes):
        here, now = stripe.transfer.source, 0
        for row in sorted(rows[index], key=lambda row: (timeline.start[row], timeline.end[row])):
            departure = timeline.ports.nic(int(timeline.one[row]))
            arrival = timeline.ports.nic(int(timeline.other[row]))
            if departure.node != here or departure.rail != arrival.rail or timeline.start[row] < now:
                raise TimelineError(f"{stripe}: takes a hop from {departure} to {arrival}, but is at {here}")
            here, now = arrival.node, timeline.end[row]
        if here != stripe.transfer.target or timeline.landed[index] < now:
            raise TimelineError(f"{stripe}: ends at node {here}, lands before it arrives, or both")


def check_bytes(timeline):
    """Every hop that was not lost carries its whole stripe, once."""
    lengths = timeline.stripes.source_hi - timeline.stripes.source_lo
    for row, stripe in enumerate(timeline.stripe.tolist()):
        if timeline.atoms[row] not in (0, lengths[stripe]):
            raise TimelineError(f"{timeline.stripes[stripe]}: carries {timeline.atoms[row]} atoms")


def check_hazards(timeline):
    """Conflicting accesses to a node's buffer come in program order. For direct routes only."""
    left, landed = {}, timeline.landed.tolist()
    begun = {}
    for row, stripe in enumerate(timeline.stripe.tolist()):
        if not timeline.is_lost[row] and timeline.atoms[row]:
            begun[stripe], left[stripe] = int(timeline.start[row]), int(timeline.end[row])
    stripes = list(timeline.stripes)
    for later, one in enumerate(stripes):
        for earlier, other in enumerate(stripes[:later]):
            # (node, region, whether it writes, when it begins, when it is done)
            accesses = [
                (other.transfer.source, other.source_region, False, left[earlier]),
                (other.transfer.target, other.target_region, True, landed[earlier]),
            ]
            for node, region, writes, done in accesses:
                for mine, my_region, i_write, begins in (
                    (one.transfer.source, one.source_region, False, begun[later]),
                    (one.transfer.target, one.target_region, True, landed[later]),
                ):
                    touch = region[0] < my_region[1] and my_region[0] < region[1]
                    if node == mine and touch and (writes or i_write) and begins < done:
                        raise TimelineError(f"{one} does not wait for {other}")


def check_dead(timeline, deaths):
    """Nothing but what was lost is on its way through a NIC after its death.

    Args:
        timeline: What happened.
        deaths: Pairs of NIC and time in D/B.
    """
    for nic, time in deaths:
        ports = {timeline.ports.sending(Nic(*nic)), timeline.ports.receiving(Nic(*nic))}
        for row in range(len(timeline.stripe)):
            uses = {int(timeline.one[row]), int(timeline.other[row])} & ports
            if uses and not timeline.is_lost[row] and timeline.clock.time(int(timeline.end[row])) > time:
                raise TimelineError(f"{timeline.stripes[int(timeline.stripe[row])]} uses the dead {nic}")


def check_all(timeline):
    """Check everything that holds for any route."""
    check_ports(timeline)
    check_journeys(timeline)
    check_bytes(timeline)
