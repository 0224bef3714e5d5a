"""What can be done to a NIC's link, and what the link is doing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from algorithms.nic import Nic
from scripts.network.kernel import Interface


class How(Enum):
    """The ways in which a link dies here.

    Attributes:
        value: Its name on the command line.
    """

    LINK_DOWN = "link-down"
    """The node's own end is switched off, as an administrator or a driver does."""
    PORT_DOWN = "port-down"
    """The switch's end is switched off: the node loses its carrier, as with a cable pulled."""
    BLACK_HOLE = "black-hole"
    """The port forwards nothing, and both ends look well."""


class Moment(NamedTuple):
    """When the kernel did something: between two instants of `time.monotonic`, Linux's CLOCK_MONOTONIC.

    Attributes:
        before_s: Just before it was asked.
        after_s: Just after it had answered.
    """

    before_s: float
    after_s: float


@dataclass(frozen=True)
class Link:
    """A NIC's link.

    Attributes:
        nic: Whose it is.
        cut: How it is cut; None if it works.
        rate_bytes_per_s: Rate of each direction.
        tx_bytes: Bytes that the node has sent, with all headers, by the kernel's count.
        rx_bytes: Bytes that it has received.
    """

    nic: Nic
    cut: How | None
    rate_bytes_per_s: float
    tx_bytes: int
    rx_bytes: int


def find_cut(end: Interface, port: Interface) -> How | None:
    """Tell how a link is cut.

    Args:
        end: The node's end.
        port: The switch's end.
    """
    if not end.is_up:
        return How.LINK_DOWN
    if not port.is_up:
        return How.PORT_DOWN
    return How.BLACK_HOLE if port.master is None else None
