from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import MachineError, UsageError
from r2cc_mpi.layout import Layout
from r2cc_mpi.netdev import rails
from r2cc_mpi.netdev.ethtool import interface_rate, speed_in
from r2cc_mpi.netdev.netlink import NO_CARRIER, KernelBytes, Link
from r2cc_mpi.netdev.rails import RailLink, agree, check_interfaces, problem_with
from r2cc_mpi.pinning import rail_environment

NAMES = ("rail0", "rail1")
LAYOUT = Layout(2, 2)


class FakeWorld:
    """Stands for COMM_WORLD at one rank; the others say what a test has put into `others`.

    Args:
        rank: The rank.
        others: By rank, what it gives into `allgather`.
    """

    def __init__(self, rank, others):
        self.rank, self.others = rank, others

    def allgather(self, mine):
        """Put this rank's word among the others'."""
        return [self.others.get(rank, mine) for rank in range(LAYOUT.ranks)]


def agreed(others, failed=()):
    """Let rank 0 agree with others."""
    world: Any = FakeWorld(0, others)
    return agree(world, LAYOUT, NAMES, failed)


@pytest.fixture
def machine(monkeypatch):
    """Give a host `n0` with two interfaces that carry, of which the second one's driver knows no rate.

    Returns:
        By name of an interface, its trouble and its rate.
    """
    links = {"rail0": ("", 1e9), "rail1": ("", None)}
    monkeypatch.setattr(socket, "gethostname", lambda: "n0")
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(links, start=1)))
    monkeypatch.setattr(rails, "look_up", lambda name: Link(1, name, links[name][0], KernelBytes(5, 6)))
    monkeypatch.setattr(rails, "interface_rate", lambda name: links[name][1] if name in links else None)
    for key, value in rail_environment(0, NAMES).items():
        monkeypatch.setenv(key, value)
    return links


def test_one_name_for_each_rail():
    """Too few, too many, and one name twice are refused."""
    check_interfaces(NAMES, LAYOUT)
    with pytest.raises(UsageError, match="interfaces rail0: one for each rail, and there are 2 rails"):
        check_interfaces(["rail0"], LAYOUT)
    with pytest.raises(UsageError, match="interfaces a, a: each rail has its own"):
        check_interfaces(["a", "a"], LAYOUT)


def test_an_interface_that_can_be_a_rail(machine):
    """One that is there, carries, and to which MPI is tied is fine."""
    assert problem_with(Nic(0, 0), NAMES, rail_environment(0, NAMES)) == ""


def test_interface_that_is_missing(machine):
    """The host, the name, and the names there are are told."""
    text = problem_with(Nic(1, 0), ("eth7", "rail1"), {})
    assert text.startswith("node 1 (n0) has no interface eth7, only rail0, rail1: correct the names, or ")


def test_interface_that_is_down(machine):
    """A link must be up when the job begins."""
    machine["rail1"] = (NO_CARRIER, None)
    text = problem_with(Nic(1, 1), NAMES, rail_environment(1, NAMES))
    assert text == "rail1 of node 1 (n0) is down (no carrier): bring it up first"


def test_mpi_that_is_not_tied(machine):
    """An MPI that would use any network is refused, with what is missing."""
    text = problem_with(Nic(1, 1), NAMES, {**rail_environment(1, NAMES), "FI_TCP_IFACE": "eth0"})
    assert text == (
        "the MPI of node 1 rail 1 is not tied to rail1: call r2cc_mpi.pin(interfaces) before MPI starts, "
        "or set FI_TCP_IFACE=rail1"
    )


def word(node, host, problem="", rate=1e9, *, is_used=True):
    """Write what a rank says."""
    return node, host, problem, is_used, rate


def others(**changed):
    """Let the ranks 1 to 3 of two hosts be fine, but for those that are changed (`rank2=...`)."""
    fine = {"rank1": word(0, "n0"), "rank2": word(1, "n1"), "rank3": word(1, "n1")}
    return {int(name[4:]): one for name, one in {**fine, **changed}.items()}


def test_ranks_agree_on_a_rate(machine):
    """The rate is known where all drivers say the same; NICs declared dead have no say."""
    assert agreed(others()) == 1e9
    assert agreed(others(rank2=word(1, "n1", rate=2e9))) is None
    assert agreed(others(rank2=word(1, "n1", rate=None))) is None
    dead = word(1, "n1", rate=None, is_used=False)
    assert agreed(others(rank2=dead), [Nic(1, 0)]) == 1e9


def test_dead_interface_is_not_looked_at(machine):
    """The owner of a NIC that was declared dead does not mind whether there is an interface."""
    del machine["rail0"]
    assert agreed(others(), [Nic(0, 0)]) == 1e9
    with pytest.raises(MachineError, match="has no interface rail0"):
        agreed(others())


def test_problem_of_another_rank(machine):
    """What is wrong on one host is raised on every rank."""
    with pytest.raises(MachineError, match="rail1 is broken"):
        agreed(others(rank3=word(1, "n1", "rail1 is broken")))


def test_two_nodes_on_one_host(machine):
    """They would talk through memory, whatever the interfaces do."""
    with pytest.raises(MachineError, match="nodes 0 and 1 are both on host n0"):
        agreed(others(rank2=word(1, "n0")))


class FakeWatch:
    """Stands for `LinkWatch`."""

    def __init__(self, interface):
        self.changes = [NO_CARRIER, ""]

    def poll(self):
        """Give all changes, once."""
        changes, self.changes = self.changes, []
        return changes

    def close(self):
        """Do nothing."""


def test_changes_are_reported(monkeypatch, machine):
    """Each change goes to the engine with its reason, at the time of the poll."""
    monkeypatch.setattr(rails, "LinkWatch", FakeWatch)
    said = []
    link = RailLink("rail0", lambda up, cause, now: said.append((up, cause, now)))
    link.look(1.5)
    link.look(2.5)
    assert said == [(False, "netlink event: no carrier", 1.5), (True, "netlink event: carries again", 1.5)]
    assert link.carried() == KernelBytes(5, 6)


def answers(bus=b"0000:01:00.0", mbit_per_s=100_000):
    """Write a driver's answers: its name and place, and its speed in two halves."""
    driver = struct.pack("=I32s32s32s32s64x", 3, b"mlx5_core", b"", b"", bus)
    return driver, struct.pack("=I8xH14xH14x", 1, mbit_per_s & 0xFFFF, mbit_per_s >> 16)


@pytest.mark.parametrize(
    ("answer", "rate"),
    [
        (answers(), 12.5e9),
        (answers(mbit_per_s=100), 12.5e6),
        (answers(mbit_per_s=0xFFFFFFFF), None),
        (answers(mbit_per_s=0), None),
        (answers(bus=b""), None),
    ],
    ids=["100 Gbit/s", "100 Mbit/s", "unknown", "no cable", "no hardware"],
)
def test_speed(answer, rate):
    """The driver's Mbit/s are bytes per second here; what has no hardware has no speed."""
    assert speed_in(*answer) == rate


def test_loopback_has_no_speed():
    """The real kernel knows of no speed of the loopback, nor of what is not there."""
    assert interface_rate("lo") is None
    assert interface_rate("nosuch0") is None
