from __future__ import annotations

import socket
import struct

import pytest

from r2cc_mpi.errors import MachineError
from r2cc_mpi.netdev import link_watch, netlink
from r2cc_mpi.netdev.link_watch import LinkWatch
from r2cc_mpi.netdev.netlink import (
    IFF_LOWER_UP,
    IFF_UP,
    NLMSG_ERROR,
    NO_CARRIER,
    OPERSTATE_UNKNOWN,
    OPERSTATE_UP,
    REMOVED,
    RTM_DELLINK,
    RTM_NEWLINK,
    SET_DOWN,
    KernelBytes,
    Link,
    look_up,
    read_links,
)

RUNNING = IFF_UP | IFF_LOWER_UP
LOWER_LAYER_DOWN, DORMANT = 3, 5
BRIDGE_FAMILY = 7


def attribute(kind, data):
    """Write an attribute as the kernel does, filled up to four bytes."""
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(
    kind=RTM_NEWLINK, *, name="rail1", number=7, flags=RUNNING, state=OPERSTATE_UP, family=socket.AF_UNSPEC
):
    """Write a message about an interface that has received 30 bytes and sent 40."""
    body = struct.pack("=BxHiII", family, 1, number, flags, 0)
    body += attribute(netlink.IFLA_IFNAME, name.encode() + b"\0")
    body += attribute(netlink.IFLA_OPERSTATE, bytes([state]))
    body += attribute(netlink.IFLA_STATS64, struct.pack("=6Q", 1, 2, 30, 40, 5, 6))
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


NO_SUCH = struct.pack("=IHHIIi", 20, NLMSG_ERROR, 0, 0, 0, -19)


@pytest.mark.parametrize(
    ("how", "trouble"),
    [
        ({}, ""),
        ({"state": OPERSTATE_UNKNOWN}, ""),
        ({"flags": 0}, SET_DOWN),
        ({"flags": IFF_LOWER_UP}, SET_DOWN),
        ({"flags": IFF_UP}, NO_CARRIER),
        ({"state": LOWER_LAYER_DOWN}, NO_CARRIER),
        ({"state": DORMANT}, NO_CARRIER),
        ({"kind": RTM_DELLINK}, REMOVED),
    ],
)
def test_what_a_message_says(how, trouble):
    """Flags, operational state and the kind of message say whether an interface carries, and why not."""
    assert list(read_links(message(**how))) == [Link(7, "rail1", trouble, KernelBytes(sent=40, received=30))]


def test_several_messages_at_once():
    """One receive may give several messages; what bridges say of their ports is none of them."""
    data = message(name="a") + message(RTM_DELLINK, family=BRIDGE_FAMILY) + NO_SUCH + message(name="bc")
    assert [link and link.name for link in read_links(data)] == ["a", None, "bc"]
    assert list(read_links(b"")) == []


class FakeSocket:
    """Stands for the kernel: gives what a test has put into it, then nothing, and notes questions."""

    def __init__(self):
        self.given, self.questions = [], []

    def settimeout(self, seconds):
        """Be one that does not wait."""
        assert seconds == 0

    def recv(self, length):
        """Give the next message, or raise the next error."""
        following = self.given.pop(0) if self.given else BlockingIOError()
        if isinstance(following, OSError):
            raise following
        return following

    def send(self, question):
        """Note for which interface it asks."""
        self.questions.append(struct.unpack_from("=BxHi", question, 16)[2])

    def close(self):
        """Do nothing."""


@pytest.fixture
def kernel(monkeypatch):
    """Let the watch talk to a fake kernel, in which rail1 is number 7."""
    fake = FakeSocket()
    monkeypatch.setattr(link_watch, "open_netlink", lambda groups: fake)
    monkeypatch.setattr(link_watch, "look_up", lambda name: Link(7, name, "", KernelBytes(0, 0)))
    return fake


def test_changes_are_told_once_and_in_order(kernel):
    """Only changes of our own interface count, not what is repeated or said of others."""
    watch = LinkWatch("rail1")
    assert kernel.questions == [7]
    assert watch.poll() == []
    kernel.given = [
        message(),
        message(flags=0, name="rail2", number=8),
        message(flags=IFF_UP) + message(flags=IFF_UP),
        message(),
        message(flags=0),
    ]
    assert watch.poll() == [NO_CARRIER, "", SET_DOWN]
    assert watch.poll() == []


def test_removed_and_made_again(kernel):
    """An interface of the same name is ours too; the end of the old one, told late, is not its end."""
    watch = LinkWatch("rail1")
    kernel.given = [message(RTM_DELLINK), message(number=9, flags=0), message(number=9), message(RTM_DELLINK)]
    assert watch.poll() == [REMOVED, SET_DOWN, ""]
    kernel.given = [message(RTM_DELLINK, number=9)]
    assert watch.poll() == [REMOVED]


def test_kernel_that_had_too_much_to_say(kernel):
    """After an overrun the state is asked for anew; an interface that is gone by then was removed."""
    watch = LinkWatch("rail1")
    kernel.given = [OSError(105, "No buffer space available"), message(flags=0)]
    assert watch.poll() == [SET_DOWN]
    assert kernel.questions == [7, 7]
    kernel.given = [OSError(105, "No buffer space available"), NO_SUCH]
    assert watch.poll() == [REMOVED]


def test_other_errors_are_not_hidden(kernel):
    """Whatever else goes wrong with the socket is told."""
    watch = LinkWatch("rail1")
    kernel.given = [OSError(9, "Bad file descriptor")]
    with pytest.raises(OSError, match="Bad file"):
        watch.poll()


def test_loopback_is_looked_up():
    """The real kernel answers about the one interface that every machine has."""
    link = look_up("lo")
    assert (link.number, link.name) == (1, "lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(1000), ("127.0.0.1", 9))
    more = look_up("lo").carried
    if not link.trouble:
        assert more.sent >= link.carried.sent + 1000


def test_unknown_interface():
    """An interface that is not there is named."""
    with pytest.raises(MachineError, match="cannot ask about interface nosuch0"):
        look_up("nosuch0")
