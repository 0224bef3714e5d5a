"""How fast an interface is, by its driver's word.

Asked by ethtool's call, which means the process's own network namespace. `/sys/class/net` shows the one in
which it was mounted.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
ETHTOOL_GSET, ETHTOOL_GDRVINFO = 1, 3
SETTINGS_BYTES, SPEED_LOW_AT, SPEED_HIGH_AT = 44, 12, 28
"""struct ethtool_cmd of <linux/ethtool.h>: its size, and where the two halves of the speed in Mbit/s are."""
DRIVER_BYTES, BUS_AT = 196, 100
"""struct ethtool_drvinfo: its size, and where the address on the bus begins."""
BUS_BYTES = 32
NO_SPEED = (0, 0xFFFFFFFF)


def interface_rate(interface: str) -> float | None:
    """Ask the driver how fast an interface is, in each direction.

    Returns:
        Bytes per second; None if the driver does not say, or if there is no hardware behind the interface:
        what the drivers of virtual ones say is made up (10 Gbit/s of a veth).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        try:
            driver = _ethtool(door, interface, ETHTOOL_GDRVINFO, DRIVER_BYTES)
            settings = _ethtool(door, interface, ETHTOOL_GSET, SETTINGS_BYTES)
        except OSError:  # no such interface, or its driver knows of no such question
            return None
    return speed_in(driver, settings)


def speed_in(driver: bytes, settings: bytes) -> float | None:
    """Read the rate in bytes per second out of the driver's two answers; see :func:`interface_rate`."""
    low, high = (struct.unpack_from("=H", settings, at)[0] for at in (SPEED_LOW_AT, SPEED_HIGH_AT))
    mbit_per_s = high << 16 | low
    has_hardware = any(driver[BUS_AT : BUS_AT + BUS_BYTES])
    return mbit_per_s * 1e6 / 8 if has_hardware and mbit_per_s not in NO_SPEED else None


def _ethtool(door: socket.socket, interface: str, question: int, answer_bytes: int) -> bytes:
    answer = array.array("B", struct.pack("=I", question).ljust(answer_bytes, b"\0"))
    address, _ = answer.buffer_info()
    fcntl.ioctl(door, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), address))
    return answer.tobytes()
