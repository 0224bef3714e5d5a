"""HotRepair: the choice of path after a failure (paper 1, R2CC, arXiv 2512.25059, figure 4).

Figure 4 switches the affected traffic to a healthy backup path that was established beforehand. Here that is
the *backup chain* of a rail: the order, fixed when the job starts, in which the other rails stand in for it,
nearest first. Nothing but the route changes: what is sent, in which order, in which channel stays the same,
so a running collective can be repaired. The backup rail carries its own share and the dead rail's: twice the
time.

The paper needs a backup rail that is healthy at both ends. Where there is none, but other nodes share a live
rail with each of the two, the route goes through them (derived here: a node that is reachable at all stays
reachable).

Not handled here: a graph of live rails ("two nodes share a rail that is up at both") that is not connected.
No route exists then; `find_route` returns None and `hot_repair_mapping` raises. Spreading the load again is
the business of a new plan, not of HotRepair. Detecting failures and sending again what was lost is the
business of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from algorithms.nic import Hop, Nic, Route
from algorithms.schedule import Schedule
from algorithms.stripes import Stripes, healthy_mapping
from algorithms.transfer import ScheduleError


def backup_chain(home: int, rails: int) -> tuple[int, ...]:
    """Order the rails that serve the traffic of rail `home`: itself, then the others, nearest first.

    >>> backup_chain(2, rails=4)
    (2, 3, 0, 1)
    """
    return tuple((home + distance) % rails for distance in range(rails))


def find_route(
    source: int, target: int, home: int, *, nodes: int, rails: int, usable: Callable[[Nic], bool]
) -> Route | None:
    """Find the route for traffic of rail `home` from `source` to `target` over NICs that are usable.

    Args:
        source: Node to start from.
        target: Node to reach; another one than `source`.
        home: The rail the traffic belongs to.
        nodes: Number of nodes.
        rails: Number of rails.
        usable: Tells whether a NIC is up, as far as the caller knows.

    Returns:
        One hop over the first rail of the backup chain that is usable at both ends. If there is none, a
        shortest route through other nodes, each hop over the first usable rail of the chain; among equally
        short ones the one whose nodes, read from the source, have the lower numbers. None if the live rails
        do not connect the two nodes.
    """
    chain = backup_chain(home, rails)
    for rail in chain:
        if usable(Nic(source, rail)) and usable(Nic(target, rail)):
            return (Hop(rail, target),)

    live = [[rail for rail in chain if usable(Nic(node, rail))] for node in range(nodes)]
    reached_by: dict[int, Route] = {source: ()}
    frontier = [source]
    while frontier and target not in reached_by:
        next_frontier = []
        for here in frontier:
            for node in range(nodes):
                shared = [] if node in reached_by else [rail for rail in live[here] if rail in live[node]]
                if shared:
                    reached_by[node] = (*reached_by[here], Hop(shared[0], node))
                    next_frontier.append(node)
        frontier = next_frontier
    return reached_by.get(target)


def connected_groups(nodes: int, rails: int, usable: Callable[[Nic], bool]) -> list[list[int]]:
    """Group the nodes that live rails connect, directly or through others.

    Returns:
        The groups, ascending, the one of node 0 first. A single group means that HotRepair always finds a
        route.
    """
    ungrouped = set(range(nodes))
    groups = []
    while ungrouped:
        group, growing = set[int](), {min(ungrouped)}
        while growing:
            group |= growing
            live = {rail for node in growing for rail in range(rails) if usable(Nic(node, rail))}
            ungrouped -= growing
            growing = {node for node in ungrouped if any(usable(Nic(node, rail)) for rail in live)}
        groups.append(sorted(group))
    return groups


def repaired_route(
    source: int, target: int, home: int, *, nodes: int, rails: int, dead: Collection[Nic]
) -> Route:
    """Find a route as `find_route` does, around NICs that are known to be dead.

    Raises:
        ScheduleError: There is none; names the groups of nodes that are cut off from each other.
    """
    route = find_route(source, target, home, nodes=nodes, rails=rails, usable=lambda nic: nic not in dead)
    if route is None:
        groups = connected_groups(nodes, rails, lambda nic: nic not in dead)
        apart = " | ".join(", ".join(map(str, group)) for group in groups)
        raise ScheduleError(
            f"no route from node {source} to node {target}: the failures separate the nodes into {apart}"
        )
    return route


def hot_repair_mapping(schedule: Schedule, rails: int, dead: Collection[Nic]) -> Stripes:
    """Map a schedule to rails as if it had been planned for a healthy network and then hit by failures.

    Args:
        schedule: What to map.
        rails: Number of rails.
        dead: The NICs that failed.

    Returns:
        The stripes of `healthy_mapping` with the routes of `find_route`; home rails are unchanged.

    Raises:
        ScheduleError: A dead NIC does not exist, or the live rails do not connect two nodes that must talk;
            names the groups of nodes that are cut off from each other.
    """
    failed = frozenset(Nic(*nic) for nic in dead)
    for nic in sorted(failed):
        if not (0 <= nic.node < schedule.nodes and 0 <= nic.rail < rails):
            raise ScheduleError(f"there is no {nic} among {schedule.nodes} nodes with {rails} rails")
    healthy = healthy_mapping(schedule, rails)
    # A direct route names target and home rail, so the paths of a healthy mapping are its channels.
    channels, channel = healthy.paths()
    table: dict[Route, int] = {}
    repaired = np.empty(len(channels), np.int32)
    for index, (source, ((home, target),)) in enumerate(channels):
        route = repaired_route(source, target, home, nodes=schedule.nodes, rails=rails, dead=failed)
        repaired[index] = table.setdefault(route, len(table))
    return replace(healthy, route=repaired[channel], routes=tuple(table))
