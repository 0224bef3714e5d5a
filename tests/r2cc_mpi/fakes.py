"""Stand-ins for MPI and for what needs it, so that the parts around them are tested on an exact clock."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import numpy as np

from algorithms.nic import Hop, Nic
from r2cc_mpi.layout import Layout
from r2cc_mpi.mpi_rail import Arrival
from r2cc_mpi.protocol.buffers import Buffer
from r2cc_mpi.protocol.header import Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.roll_call import RollCall
from r2cc_mpi.virtual_rail import Counters, VirtualRail

RATE = 1000.0
"""Bytes per second at which a chunk of 1000 bytes takes one second."""
IN_PLACE = object()
"""Stands for MPI.IN_PLACE."""


class FakeDatatype:
    """Stands for `MPI.Datatype`: predefined ones have a NumPy type, derived ones an opaque one."""

    def __init__(self, typestr, *, is_predefined=True):
        self.typestr, self.is_predefined = typestr, is_predefined


class FakeMpi:
    """Stands for the names of `mpi4py.MPI` that buffer specifications use."""

    IN_PLACE = IN_PLACE
    BOTTOM = object()
    Datatype = FakeDatatype
    FLOAT, INT, LONG = FakeDatatype("f4"), FakeDatatype("i4"), FakeDatatype("i8")
    VECTOR, NULL = FakeDatatype("V12", is_predefined=False), FakeDatatype("")


def chunk(length, *, number=0, collective=1):
    """Make a chunk of so many bytes from node 0 to node 1 over rail 0."""
    header = Header(
        Kind.DATA,
        Nic(0, 0),
        0,
        (Hop(0, 1),),
        sequence=number,
        collective=collective,
        length=length,
    )
    return Message(header, buffer=Buffer(length))


def control(number=0):
    """Make a control message from node 0 to node 1 over rail 0."""
    return Message(Header(Kind.PING, Nic(0, 0), 0, (Hop(0, 1),), sequence=number))


class FakeMpiRail:
    """Stands for `MpiRail`: what is sent is at the peer at once; MPI completes sends when told to.

    Attributes:
        peer: Where messages go; None loses them.
        sent: Everything sent, as (node, message, stamp).
        returned: Buffers that were given back.
    """

    def __init__(self, node=0):
        self.node = node
        self.peer = None
        self.sent = []
        self.returned = []
        self.completions = []
        self.arrived: deque[tuple[Arrival, int]] = deque()

    def is_sending_to(self, nodes):
        """Say whether a chunk to these nodes is not completed."""
        return bool(self.completions) and any(node in nodes for node, _, _ in self.sent)

    def send(self, node, message, stamp, completion=None):
        """Deliver to the peer."""
        self.sent.append((node, message, stamp))
        if completion is not None:
            self.completions.append(completion)
        if self.peer is not None:
            self.peer.arrived.append((Arrival(self.node, message), stamp))

    def poll(self):
        """Return what has arrived."""
        arrived = list(self.arrived)
        self.arrived.clear()
        return arrived

    def complete(self):
        """Let MPI be done with all sends."""
        for completion in self.completions:
            completion()
        self.completions = []

    def give_back(self, buffer):
        """Note a buffer that is not wanted."""
        self.returned.append(buffer)


class FakeRail:
    """Stands for `VirtualRail`, as a fault plan sees it."""

    def __init__(self):
        self.factor = 1.0
        self.is_dead = False
        self.on_sent = None
        self.log = []

    def die(self, *, late):
        """Note it."""
        self.is_dead = True
        self.log.append(("die", late))

    def revive(self, now):
        """Note it."""
        self.is_dead = False
        self.log.append(("revive", now))


class FakeCommunicator:
    """Stands for `Communicator` at one rank, all of whose peers are played by `others`.

    Args:
        nic: The NIC of the rank.
        layout: Nodes and rails.
        others: Gives what the other ranks contribute to a sum, from the rank's own array.
    """

    def __init__(self, nic=Nic(0, 0), layout=None, others=None):  # noqa: B008  (a NIC is a tuple)
        self.nic = nic
        self.layout = layout or Layout(2, 2)
        self.others = others
        self.rail = FakeRail()
        self.counters = Counters()
        self.progress = 0.0
        self.hooks = []
        self.events = []
        self.calls = []
        self.ops = []
        self.roll = RollCall(self.layout.ranks)
        self.given_up = []
        self.excluded = []
        self.last_report = None

    def add_hook(self, hook):
        """Keep a hook."""
        self.hooks.append(hook)

    def kernel_bytes(self):
        """Say that the rail is no interface."""

    def rail_event(self, *, up, now):
        """Note an event."""
        self.events.append((up, now))

    def call_roll(self):
        """Ask about collective 1; the answers are put into `roll` by the test."""
        self.roll.ask(1)
        return self.roll

    def give_up(self, reason):
        """Note the reason."""
        self.given_up.append(reason)

    def Barrier(self):
        """Note a barrier."""
        self.calls.append("barrier")

    def add_up(self, array):
        """Add what the others contribute, in place."""
        self.Allreduce(IN_PLACE, array)

    def Allreduce(self, send, receive, op=None):
        """Add what the others contribute."""
        self.ops.append(op)
        mine = receive.copy() if send is IN_PLACE else send
        self.calls.append("in place" if send is IN_PLACE else "two arrays")
        receive[:] = mine + (0 if self.others is None else self.others(mine))
        number = len(self.calls)
        self.last_report = SimpleNamespace(
            number=number, time_s=0.5, network_s=0.25, strategy="ring", excluded=self.excluded
        )

    def Allreduce_init(self, send, receive, op=None):
        """Make a persistent sum, planned without the NICs that are down now."""
        self.calls.append("plan")
        return FakePersistentRequest(self, (send, receive, op))


class FakePersistentRequest:
    """Stands for `PersistentRequest`."""

    def __init__(self, comm, arguments):
        self._comm, self._arguments = comm, arguments
        self.plan_report = SimpleNamespace(excluded=tuple(comm.excluded))

    def Start(self):
        """Note a start."""
        self._comm.calls.append("start")

    def Wait(self):
        """Add what the others contribute."""
        self._comm.Allreduce(*self._arguments)


def words(count):
    """Make shared 64-bit words."""
    return memoryview(np.zeros(count, np.int64).data).cast("B").cast("q")


def make_pair(rate=RATE, **how):
    """Make two NICs of one rail, each the peer of the other."""
    ends = FakeMpiRail(0), FakeMpiRail(1)
    ends[0].peer, ends[1].peer = ends[1], ends[0]
    return make_nic(ends[0], rate, **how), make_nic(ends[1], rate, **how)


def make_nic(end, rate=RATE, **how):
    """Make a NIC on one end of a fake MPI rail."""
    return VirtualRail(end, rate, **how)


def numbers(arrivals):
    """List which chunks or control messages arrived."""
    return [arrival.message.header.sequence for arrival in arrivals]


def times_of(rail):
    """List the times, in seconds, at which chunks left."""
    return [stamp / 1e6 for _, _, stamp in rail._rail.sent]
