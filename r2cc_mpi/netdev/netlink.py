"""What the kernel says of network interfaces, by rtnetlink(7): which carry, and how many bytes they did.

One socket, one kind of message and a few attributes are all it takes, and a poll costs a microsecond. So this
is done with the standard library, and not with pyroute2, which wants an event loop or threads of its own
where we have a driver that polls. A netlink socket belongs to the network namespace of its process, whatever
is mounted on `/sys` or `/proc`.

The kernel's words are in <linux/netlink.h>, <linux/rtnetlink.h>, <linux/if_link.h> and <linux/if.h>.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

from r2cc_mpi.errors import MachineError

RTMGRP_LINK = 1
NLMSG_ERROR, NLM_F_REQUEST = 2, 1
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
IFLA_IFNAME, IFLA_OPERSTATE, IFLA_STATS64 = 3, 16, 23
IFF_UP, IFF_LOWER_UP = 1, 1 << 16
OPERSTATE_UNKNOWN, OPERSTATE_UP = 0, 6

MESSAGE = struct.Struct("=IHHII")
"""nlmsghdr: length, type, flags, sequence number, port."""
LINK = struct.Struct("=BxHiII")
"""ifinfomsg: family, kind of device, index, flags, which flags changed."""
ATTRIBUTE = struct.Struct("=HH")
"""rtattr: length, type."""
COUNTERS = struct.Struct("=4Q")
"""The beginning of rtnl_link_stats64: packets received and sent, bytes received and sent."""
RECEIVE_BYTES = 1 << 16
ANSWER_S = 5.0

SET_DOWN, NO_CARRIER, REMOVED = "set down", "no carrier", "removed"


class KernelBytes(NamedTuple):
    """Bytes that an interface has sent and received since it exists, with the headers below TCP's."""

    sent: int
    received: int


class Link(NamedTuple):
    """What one message says of an interface.

    Attributes:
        number: Its index; that of one that was removed is not used again.
        name: Its name.
        trouble: Why it carries nothing: SET_DOWN, NO_CARRIER or REMOVED; empty if it does.
        carried: What it has carried so far.
    """

    number: int
    name: str
    trouble: str
    carried: KernelBytes


def read_links(data: bytes) -> Iterator[Link | None]:
    """Read what one receive gave.

    Args:
        data: Messages, one behind the other.

    Yields:
        What each says of an interface; None for the answer that there is no such interface.
    """
    at = 0
    while at + MESSAGE.size <= len(data):
        length, kind, *_ = MESSAGE.unpack_from(data, at)
        if kind == NLMSG_ERROR:
            yield None
        elif kind in {RTM_NEWLINK, RTM_DELLINK}:
            family, _, index, flags, _ = LINK.unpack_from(data, at + MESSAGE.size)
            found = dict(_attributes(data[at + MESSAGE.size + LINK.size : at + length]))
            if family == socket.AF_UNSPEC:  # a bridge speaks of its ports in the same words
                name = found[IFLA_IFNAME].rstrip(b"\0").decode()
                trouble = REMOVED if kind == RTM_DELLINK else _trouble(flags, found[IFLA_OPERSTATE][0])
                _, _, received, sent = COUNTERS.unpack_from(found[IFLA_STATS64])
                yield Link(index, name, trouble, KernelBytes(sent, received))
        at += _aligned(max(length, MESSAGE.size))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + ATTRIBUTE.size <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        yield kind, data[at + ATTRIBUTE.size : at + length]
        at += _aligned(max(length, ATTRIBUTE.size))


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _trouble(flags: int, state: int) -> str:
    if not flags & IFF_UP:
        return SET_DOWN
    # DOWN, LOWERLAYERDOWN, DORMANT and so on: the cable or the other side is missing.
    carries = flags & IFF_LOWER_UP and state in {OPERSTATE_UNKNOWN, OPERSTATE_UP}
    return "" if carries else NO_CARRIER


def open_netlink(groups: int) -> socket.socket:
    """Open a socket to the kernel.

    Args:
        groups: What to listen to: RTMGRP_LINK, or 0 for answers alone.
    """
    door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    door.bind((0, groups))
    return door


def ask_about(door: socket.socket, index: int) -> None:
    """Ask the kernel for one interface, by its number; the answer comes like everything else it says."""
    question = LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0)
    door.send(MESSAGE.pack(MESSAGE.size + len(question), RTM_GETLINK, NLM_F_REQUEST, 0, 0) + question)


def look_up(interface: str) -> Link:
    """Ask how an interface is just now.

    Raises:
        MachineError: There is no such interface, or the kernel does not say.
    """
    try:
        with open_netlink(0) as door:
            door.settimeout(ANSWER_S)
            ask_about(door, socket.if_nametoindex(interface))
            for link in read_links(door.recv(RECEIVE_BYTES)):
                if link is not None:
                    return link
    except OSError as error:
        raise MachineError(f"cannot ask about interface {interface}: {error}") from error
    raise MachineError(f"there is no interface {interface}")
