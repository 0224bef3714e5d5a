"""A failed NIC is offered again once it has proved itself, and later each time it fails.

The owner of a NIC that is down probes its peers over that very rail. Only echoes count: a link that reports
itself up may still lose everything. And every peer has to echo whose own NIC there is up: each pair of ranks
has a connection of its own, which comes back in its own time after an outage (TCP tries again after pauses
that double), and a rail that is used while one of them is still silent would be declared down again. The
owner then waits out the damping time, which doubles with every flap, and raises the NIC's health version.
Routes use the NIC from the next START on.
"""

from __future__ import annotations

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.header import Header, Kind
from r2cc_mpi.protocol.health import HealthTable
from r2cc_mpi.protocol.network import Message, Network

MAX_DAMPING_DOUBLINGS = 10
FIRST_NUMBER = 1 << 32
"""Probes are numbered from here on, so that their echoes are not taken for those of an examination."""


class Recovery:
    """One rank's care for its own NIC while it is down.

    Args:
        me: This rank and the NIC it owns.
        health: What is known of all NICs.
        network: Carries the probes.
        interval_s: Seconds between probes.
        damping_s: Seconds between the last echo that was missing and the offer, for the first failure.
    """

    def __init__(
        self, me: Nic, health: HealthTable, network: Network, interval_s: float, damping_s: float
    ) -> None:
        self._me, self._health, self._network = me, health, network
        self._interval_s, self._damping_s = interval_s, damping_s
        self._probed_at = float("-inf")
        self._echoed_by: set[int] = set()
        self._proved_at: float | None = None
        self._number = self._first_valid = FIRST_NUMBER
        self.carrier = True
        """What the rail itself reports; while it reports no carrier there is nothing to probe."""

    def lost_again(self) -> None:
        """Note that the NIC was reported down: the echo of an earlier probe proves nothing any more."""
        self._echoed_by.clear()
        self._proved_at = None
        self._first_valid = self._number + 1

    def echo(self, header: Header, now: float) -> None:
        """Take in an ECHO that came over this NIC."""
        if not self._health.is_up(self._me) and header.sequence >= self._first_valid:
            self._echoed_by.add(header.origin.node)
            self._look_for_proof(now)

    def tick(self, now: float) -> bool:
        """Probe when it is time.

        Returns:
            Whether the NIC may be declared up now.
        """
        if self._health.is_up(self._me) or not self.carrier:
            return False
        self._look_for_proof(now)  # the last peer that was missing may have gone down itself
        if self._proved_at is not None:
            flaps = self._health.version(self._me) // 2
            return now >= self._proved_at + self._damping_s * 2.0 ** min(flaps, MAX_DAMPING_DOUBLINGS)
        if now >= self._probed_at + self._interval_s:
            self._probed_at = now
            self._number += 1
            for node in range(self._health.nodes):
                if node != self._me.node:
                    route = (Hop(self._me.rail, node),)
                    probe = Header(Kind.PROBE, self._me, self._me.rail, route, sequence=self._number)
                    self._network.send(Message(probe))
        return False

    def _look_for_proof(self, now: float) -> None:
        """Note when an echo is there, and one from every peer whose NIC on this rail is up."""
        if self._proved_at is not None or not self._echoed_by:
            return
        peers = (Nic(node, self._me.rail) for node in range(self._health.nodes) if node != self._me.node)
        if {nic.node for nic in peers if self._health.is_up(nic)} <= self._echoed_by:
            self._proved_at = now
