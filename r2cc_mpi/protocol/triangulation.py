"""Three-point triangulation: when something stalls, every rank examines its own NIC.

Paper 1 tells a local NIC fault, a remote NIC fault and a slow peer apart by probes from both ends and from a
third node. Here the owner of a NIC probes all peers on its rail at once:

* A PROBE over the rail that is echoed proves both NICs.
* A peer that stays silent is asked over *another* rail how many messages its NIC received from ours (ASK,
  ANSWER). Only a peer that answers twice, most of a probe time apart, while its count stands still, is a
  dead link: its process is alive and polls, yet nothing arrives. A peer that computes, swaps or is starved
  does not answer, and is not declared anything.
* If some other peer echoes, the fault is the silent peer's; if none does, it is our own. The witness must
  echo *after* the silent peer's second count: our NIC may have died in the middle of the examination, and an
  echo from before would then put the blame on the wrong end. With two nodes there is no third point: both
  declare themselves, and both come back by the same echo.

Not handled: faults of a single link between two healthy NICs of one rail. They end as a fault of one NIC,
which is safe.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from algorithms.hot_repair import find_route
from algorithms.nic import Hop, Nic, Route
from r2cc_mpi.protocol.header import MAX_HOPS, Header, Kind
from r2cc_mpi.protocol.health import HealthTable
from r2cc_mpi.protocol.network import Message, Network

APART = 0.75
"""Of a probe time, between the two questions. The rest is for their ways and for telling the others: all know
within one probe time when an owner finds its own NIC dead."""


@dataclass
class _Peer:
    """What one examination has learned of one peer, and when it was asked last."""

    asked_at: float
    echoed: bool = False
    counts: list[int] = field(default_factory=list)
    counted_at: float = 0.0

    def is_dead(self) -> bool:
        return not self.echoed and len(self.counts) == 2 and self.counts[0] == self.counts[1]

    def is_alive(self) -> bool:
        return self.echoed or (len(self.counts) == 2 and self.counts[0] != self.counts[1])


class Triangulation:
    """One rank's examinations of its own NIC.

    Args:
        me: This rank and the NIC it owns.
        health: What is known of all NICs.
        network: Carries probes and questions.
        probe_s: A probe time, in seconds: how long an examination waits for echoes.
    """

    def __init__(self, me: Nic, health: HealthTable, network: Network, probe_s: float) -> None:
        self._me, self._health, self._network, self._probe_s = me, health, network, probe_s
        self._peers: dict[int, _Peer] = {}
        self._nonce = 0
        self._started_at = float("-inf")
        self._suspects: list[int] = []
        self._confirming_since = float("-inf")

    @property
    def is_running(self) -> bool:
        """Whether an examination is under way."""
        return bool(self._peers or self._suspects)

    def begin(self, now: float) -> None:
        """Examine this rank's NIC, unless it is known to be down or was examined a moment ago."""
        if self.is_running or not self._health.is_up(self._me) or now < self._started_at + 2 * self._probe_s:
            return
        self._examine(now)

    def _examine(self, now: float) -> None:
        self._started_at = now
        self._nonce += 1
        others = (node for node in range(self._health.nodes) if node != self._me.node)
        self._peers = {node: _Peer(now) for node in others if self._health.is_up(Nic(node, self._me.rail))}
        for node in self._peers:
            self._probe(node)
            self._ask(node)

    def _probe(self, node: int) -> None:
        route = (Hop(self._me.rail, node),)
        self._network.send(Message(Header(Kind.PROBE, self._me, self._me.rail, route, sequence=self._nonce)))

    def _ask(self, node: int) -> None:
        def on_another_rail(nic: Nic) -> bool:
            return nic.rail != self._me.rail and self._health.is_up(nic)

        route: Route | None = find_route(
            self._me.node,
            node,
            self._me.rail,
            nodes=self._health.nodes,
            rails=self._health.rails,
            usable=on_another_rail,
        )
        if route is not None and len(route) <= MAX_HOPS:
            self._network.send(
                Message(Header(Kind.ASK, self._me, self._me.rail, route, sequence=self._nonce))
            )

    def echo(self, header: Header) -> None:
        """Take in an ECHO."""
        peer = self._peers.get(header.origin.node)
        if peer is not None and header.sequence == self._nonce:
            peer.echoed = True

    def answer(self, header: Header, now: float) -> None:
        """Take in an ANSWER; the second one counts only so much later than the first."""
        peer = self._peers.get(header.origin.node)
        if peer is None or header.sequence != self._nonce or len(peer.counts) == 2:
            return
        if not peer.counts or now >= peer.counted_at + APART * self._probe_s:
            if not peer.counts:
                self._probe(header.origin.node)  # the second count must have had something to count
            peer.counts.append(header.landed)
            peer.counted_at = now

    def tick(self, now: float) -> list[Nic]:
        """Go on with the examination.

        Returns:
            NICs found dead, when the examination has just ended; else nothing.
        """
        if not self._health.is_up(self._me):  # a NIC known to be dead can accuse nobody
            self._suspects, self._peers = [], {}
        if self._suspects:
            return self._confirm(now)
        if not self._peers:
            return []
        self._ask_again(now)
        undecided = any(not peer.is_dead() and not peer.is_alive() for peer in self._peers.values())
        if undecided and now < self._started_at + 3 * self._probe_s:
            return []
        return self._conclude(now, undecided=undecided)

    def _ask_again(self, now: float) -> None:
        for node, peer in self._peers.items():
            due = max(peer.asked_at + self._probe_s / 4, peer.counted_at + APART * self._probe_s)
            if not peer.echoed and len(peer.counts) < 2 and now >= due:
                peer.asked_at = now
                self._ask(node)

    def _conclude(self, now: float, *, undecided: bool) -> list[Nic]:
        peers, self._peers = self._peers, {}
        dead = [node for node, peer in peers.items() if peer.is_dead()]
        if not dead:
            return []
        witnesses = [node for node, peer in peers.items() if peer.is_alive()]
        if not witnesses:
            # A peer that does not answer at all may yet turn out to be the witness; no collective completes
            # without it anyway, so nothing is lost by examining again once it is back.
            return [] if undecided else [self._me]
        self._suspects, self._confirming_since = dead, now
        self._nonce += 1
        self._peers = {node: _Peer(now) for node in peers}
        for node in self._peers:
            self._probe(node)
        return []

    def _confirm(self, now: float) -> list[Nic]:
        """Wait for a witness to echo once more, after the suspects' counts were taken.

        A suspect that is only slow gets a whole probe time to echo as well.
        """
        if now <= self._confirming_since + self._probe_s:
            return []
        echoed = {node for node, peer in self._peers.items() if peer.echoed}
        suspects, self._suspects, self._peers = self._suspects, [], {}
        if echoed - set(suspects):
            return [Nic(node, self._me.rail) for node in suspects if node not in echoed]
        self._examine(now)
        return []
