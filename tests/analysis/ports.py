"""A network of ports, simulated message by message: the independent check of times and message counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from algorithms.hot_repair import repaired_route
from algorithms.nic import nics_of
from analysis.rail_rates import RailRates


class Message(NamedTuple):
    """A message. It may start when those of `after` have arrived; `rate` is what its slower end can do."""

    source: int
    target: int
    length: Fraction
    rate: Fraction
    after: tuple[int, ...] = ()


def finish(messages: Sequence[Message], alpha: Fraction) -> Fraction:
    """Time at which the last message has arrived.

    A message occupies the sending port of its source and the receiving port of its target for alpha plus
    length over rate. Each port serves its messages in the order of the list.
    """
    sending: dict[int, Fraction] = {}
    receiving: dict[int, Fraction] = {}
    arrived: list[Fraction] = []
    for message in messages:
        start = max(
            sending.get(message.source, Fraction(0)),
            receiving.get(message.target, Fraction(0)),
            *(arrived[earlier] for earlier in message.after),
        )
        end = start + alpha + message.length / message.rate
        sending[message.source] = receiving[message.target] = end
        arrived.append(end)
    return max(arrived, default=Fraction(0))


def ring(rates: Sequence[Fraction], data: Fraction) -> list[Message]:
    """Write the ring allreduce over nodes of these rates: 2 (n-1) steps, each needs the one before it."""
    n = len(rates)
    return [
        Message(
            source=node,
            target=(node + 1) % n,
            length=data / n,
            rate=min(rates[node], rates[(node + 1) % n]),
            # what a node sends in a step is what it got in the step before
            after=((step - 1) * n + (node - 1) % n,) if step else (),
        )
        for step in range(2 * (n - 1))
        for node in range(n)
    ]


def repaired_ring(rates: RailRates) -> list[Message]:
    """Write the ring allreduce after HotRepair, NIC by NIC: every share takes the route it is given."""
    n, g = rates.nodes, rates.rails
    messages: list[Message] = []
    newest: dict[tuple[int, int], int] = {}
    for step in range(2 * (n - 1)):
        before, newest = newest, {}
        for node, home in product(range(n), range(g)):
            route = repaired_route(node, (node + 1) % n, home, nodes=n, rails=g, dead=rates.dead())
            after = (before[(node - 1) % n, home],) if step else ()
            for out, into in nics_of(node, route):
                slower = min(rates.rate(out), rates.rate(into))
                source, target = (nic.node * g + nic.rail for nic in (out, into))
                messages.append(Message(source, target, Fraction(1, n * g), slower, after))
                after = (len(messages) - 1,)
            newest[node, home] = len(messages) - 1
    return messages


def chain(n: int, kept: Fraction, data: Fraction, pieces: int) -> list[Message]:
    """Write stage 2 as a chain: node 0 is degraded, nodes 1, ..., n-1 are the chain.

    The partial sum returns from node n-1 as soon as ports are free; only its landing has to wait, and it
    lands after the piece it belongs to has left.
    """
    messages: list[Message] = []
    for _ in range(pieces):
        for node in range(n - 1):
            rate = kept if node == 0 else Fraction(1)
            after = (len(messages) - 1,) if node else ()
            messages.append(Message(node, node + 1, data / pieces, rate, after))
        messages.append(Message(n - 1, 0, data / pieces, kept))
    return messages


def helper(n: int, kept: Fraction, data: Fraction, pieces: int, sub_pieces: int) -> list[Message]:
    """Write stage 2 by a helper: node 0 is degraded, 1 helps; 2, ..., n-1 and then 0 get the broadcast."""
    messages: list[Message] = []
    for _piece in range(pieces):
        messages.append(Message(0, 1, data / pieces, kept))
        here = len(messages) - 1
        for _part in range(sub_pieces):
            for node in range(1, n):
                target = (node + 1) % n
                after = here if node == 1 else len(messages) - 1
                rate = Fraction(1) if target else kept
                length = data / pieces / sub_pieces
                messages.append(Message(node, target, length, rate, (after,)))
    return messages
