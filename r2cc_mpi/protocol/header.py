"""The 64 bytes in front of every message: what it is, where it comes from, and the whole route it takes.

A message carries its route from end to end, so a relay keeps no state and the answer can retrace it
backwards. Late messages are harmless because the header alone decides what a message means; no tag or
communicator per epoch is needed.
"""

from __future__ import annotations

import enum
import struct
from functools import lru_cache
from typing import NamedTuple

from algorithms.nic import Hop, Nic, Route

HEADER_BYTES = 64
MAX_HOPS = 6
"""Longest route that fits the header; a live-rail graph that needs more relays counts as disconnected."""


class Kind(enum.IntEnum):
    """What a message is."""

    DATA = 1  # one chunk of a channel
    ACK = 2  # landed and consumed counts of a channel, back to its sender
    PING = 3  # a stalled sender asks its receiver for an ACK
    PROBE = 4  # travels one rail only; the receiver returns an ECHO on the same rail
    ECHO = 5
    ASK = 6  # "how many messages has your NIC received from mine?", sent over another rail
    ANSWER = 7
    NEWS = 8  # everything the sender knows (health, START, DONE, ERROR); flooded when it changes
    HELLO = 9  # NEWS and a sign of life, flooded by a rank that waits, answered by everyone's own


class Flag(enum.IntFlag):
    """Remarks on an ACK or a HELLO."""

    NONE = 0
    GAP = 1  # a chunk is missing in front of one that arrived
    PONG = 2  # the answer to a PING
    ASKING = 4  # a HELLO of a rank that waits: answer it, and examine your NIC


class Header(NamedTuple):
    """One message's header.

    Attributes:
        kind: What the message is.
        origin: Rank that wrote the message.
        target_rail: Rail owned by the rank it is for, on the route's last node.
        route: All hops from the origin's node; empty for a message that stays on its node.
        hop: Number of hops already travelled.
        flags: Remarks on an ACK or a HELLO.
        generation: How often the channel's sender has rewound (modulo 65536); an ACK repeats it.
        collective: Number of the collective a chunk belongs to.
        sequence: Chunk number (DATA), or a nonce that the answer repeats.
        landed: Chunks that arrived in order (ACK), or a receive counter (ANSWER).
        consumed: Chunks that the receiver's executor has applied (ACK).
        length: Bytes of payload or body behind the header.
    """

    kind: Kind
    origin: Nic
    target_rail: int
    route: Route = ()
    hop: int = 0
    flags: int = 0
    generation: int = 0
    collective: int = 0
    sequence: int = 0
    landed: int = 0
    consumed: int = 0
    length: int = 0

    @property
    def target_node(self) -> int:
        """Node the message is for."""
        return self.route[-1].node if self.route else self.origin.node

    def travelled(self) -> Header:
        """Return the header as it reads after one more hop."""
        return Header(*self[:4], self.hop + 1, *self[5:])


_FIXED = struct.Struct("<BBHBBBBHIQQQI")
_HOP = struct.Struct("<BH")
_KINDS = {kind.value: kind for kind in Kind}


@lru_cache(maxsize=4096)
def reversed_route(origin: Nic, route: Route) -> Route:
    """Return the hops that lead back from a route's end to its origin's node."""
    nodes = [origin.node, *(hop.node for hop in route)]
    return tuple(Hop(hop.rail, nodes[i]) for i, hop in reversed(list(enumerate(route))))


def pack(header: Header) -> bytes:
    """Write a header as 64 bytes.

    Raises:
        ValueError: The route is longer than ``MAX_HOPS``.
    """
    if len(header.route) > MAX_HOPS:
        raise ValueError(f"a route of {len(header.route)} hops does not fit a header (at most {MAX_HOPS})")
    fixed = _FIXED.pack(
        header.kind,
        header.flags,
        header.origin.node,
        header.origin.rail,
        header.target_rail,
        header.hop,
        len(header.route),
        header.generation,
        header.collective,
        header.sequence,
        header.landed,
        header.consumed,
        header.length,
    )
    return fixed + _pack_route(header.route)


def unpack(raw: bytes) -> Header:
    """Read a header from its 64 bytes."""
    (kind, flags, node, rail, target_rail, hop, hops, generation, *counts) = _FIXED.unpack_from(raw)
    origin, route = _unpack_route(node, rail, raw[_FIXED.size : _FIXED.size + hops * _HOP.size])
    return Header(_KINDS[kind], origin, target_rail, route, hop, flags, generation, *counts)


# A job has few routes, and its messages take them again and again.


@lru_cache(maxsize=4096)
def _pack_route(route: Route) -> bytes:
    hops = b"".join(_HOP.pack(hop.rail, hop.node) for hop in route)
    return hops.ljust(HEADER_BYTES - _FIXED.size, b"\0")


@lru_cache(maxsize=4096)
def _unpack_route(node: int, rail: int, hops: bytes) -> tuple[Nic, Route]:
    return Nic(node, rail), tuple(Hop(*hop) for hop in _HOP.iter_unpack(hops))
