"""HotRepair: a channel whose route lost a NIC goes on over the next backup, from the last landed chunk.

Paper 1 (arXiv 2512.25059), figure 4: "affected traffic is switched to a pre-established healthy backup path
after a failure". In the paper both ends agree on a rollback point, fence the old path and send again what was
not consumed. Here the three steps are:

* *Backup chain*: the order in which rails are tried, home first, then its neighbours, then relays through a
  third node (:func:`algorithms.hot_repair.find_route`). Every rank can reach every buffer from the start, so
  nothing is set up.
* *Rollback*: the sender rewinds to its ``landed`` count. The count of the receiver is at least as large, so
  at worst a chunk arrives twice, and the receiver drops what it does not expect. The ends need not agree
  first: if both act on the same news, or only one does, the outcome is the same.
* *Fence*: a chunk that arrives late over the old path has a number that is not expected any more. Its buffer
  is not used again while a send of it is pending (:mod:`r2cc_mpi.protocol.buffers`).

Not handled here: noticing the failure (:mod:`~r2cc_mpi.protocol.triangulation`, or an event of the rail), and
a live-rail graph that is disconnected (:mod:`~r2cc_mpi.protocol.liveness`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from algorithms.hot_repair import find_route
from algorithms.nic import Hop, Nic, Route
from r2cc_mpi.protocol.channel import SendChannel
from r2cc_mpi.protocol.header import MAX_HOPS
from r2cc_mpi.protocol.health import Change, HealthTable


class Failover(NamedTuple):
    """A channel was moved to another route.

    Attributes:
        nic: The NIC that was lost.
        source: Sending node of the channel.
        home: Home rail of the channel.
        target: Receiving node.
        route: The new route; None when no route is left.
        at: When, in seconds on the clock of the caller.
        resent_chunks: Chunks that had not landed and are sent again.
        resent_bytes: Their payload, bytes.
    """

    nic: Nic
    source: int
    home: int
    target: int
    route: Route | None
    at: float
    resent_chunks: int
    resent_bytes: int


def nics_on(route: Route, source: int) -> list[Nic]:
    """List the NICs that a route from node ``source`` uses, at both ends of each hop."""
    nics = []
    before = source
    for hop in route:
        nics += [Nic(before, hop.rail), Nic(hop.node, hop.rail)]
        before = hop.node
    return nics


class HotRepair:
    """Keeps one rank's sending channels on working routes.

    Args:
        me: This rank; its rail is the home rail of its channels.
        health: What is known of all NICs.
        channels: This rank's sending channels by target node.
    """

    def __init__(self, me: Nic, health: HealthTable, channels: dict[int, SendChannel]) -> None:
        self._me, self._health, self._channels = me, health, channels
        self.failovers: list[Failover] = []

    def best_route(self, target: int) -> Route | None:
        """Return the route that the backup chain prefers now.

        A NIC that came back during the running collective is used only when there is no other way.
        """
        return self._find(target, self._health.is_admitted) or self._find(target, self._health.is_up)

    def _find(self, target: int, usable: Callable[[Nic], bool]) -> Route | None:
        route = find_route(
            self._me.node,
            target,
            self._me.rail,
            nodes=self._health.nodes,
            rails=self._health.rails,
            usable=usable,
        )
        return route if route is None or len(route) <= MAX_HOPS else None

    def repair(self, changes: list[Change], now: float) -> None:
        """Move every channel whose route uses a changed NIC, and rewind it.

        A health version that rose, to whatever value, means that the NIC was down at some time: what it
            carried may be lost.
        """
        for channel in self._channels.values():
            if channel.route is None:
                channel.route = self.best_route(channel.target)
                continue
            used = nics_on(channel.route, self._me.node)
            lost = [change.nic for change in changes if change.nic in used]
            if lost:
                self._migrate(channel, lost[0], now)

    def _migrate(self, channel: SendChannel, nic: Nic, now: float) -> None:
        rewound_bytes = channel.bytes_on_their_way()
        chunks = channel.rewind()
        channel.route = self.best_route(channel.target)
        channel.progress_at = now
        failover = Failover(
            nic, self._me.node, self._me.rail, channel.target, channel.route, now, chunks, rewound_bytes
        )
        self.failovers.append(failover)

    def prefer(self, channel: SendChannel) -> None:
        """Put a drained channel back on the best route, after a NIC was admitted again.

        A channel with chunks on their way stays where it is: on another route they could overtake each other.
        """
        is_home = channel.route == (Hop(self._me.rail, channel.target),)  # there is no better one
        if channel.is_settled and not is_home:
            channel.route = self.best_route(channel.target)
