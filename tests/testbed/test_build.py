from __future__ import annotations

import json
from fractions import Fraction

import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import MachineError, UsageError
from scripts.network import build, kernel
from scripts.network.kernel import Namespace
from scripts.network.testbed import Testbed
from tests.testbed.talk import on_node, reaches

pytestmark = pytest.mark.usefixtures("namespaces")


def test_what_is_built():
    """Every NIC that is wanted exists and runs at its rate, and after the end nothing is left."""
    slow = {Nic(1, 1): Fraction(1, 2)}
    with Testbed.build(nodes=2, rails=3, rate_bytes_per_s=1e7, slow=slow, without=[Nic(0, 2)]) as bed:
        assert (bed.nodes, bed.rails) == (2, 3)
        assert bed.nics == [Nic(0, 0), Nic(0, 1), Nic(1, 0), Nic(1, 1), Nic(1, 2)]
        assert {link.nic: link.rate_bytes_per_s for link in bed.links()} == {
            nic: 5e6 if nic in slow else 1e7 for nic in bed.nics
        }
        assert [link.cut for link in bed.links()] == [None] * 5
        assert len(build.parts_of(bed.name)) == 3
        assert reaches(bed, 0, 1, rail=2)  # over mgmt
        assert bed.link(Nic(1, 2)).tx_bytes == 0
    assert build.parts_of(bed.name) == []


def test_both_directions_are_shaped(bed):
    """A token bucket is at the node's end, and one at the port."""
    switch = Namespace(build.switch_of(bed.name))
    shaped = switch.limits()
    ports = {name: shaped.get(port.index) for name, port in switch.interfaces().items() if name[0] == "n"}
    switch.close()
    assert ports == {
        f"n{node}-{link}": None if link == "mgmt" else 12.5e6
        for node in (0, 1)
        for link in ("mgmt", "rail0", "rail1")
    }


@pytest.mark.parametrize(("rate", "packet"), [(1e6, 8192), (1.25e7, 31250), (1e9, 65536)])
def test_what_tcp_hands_to_a_rail(rate, packet):
    """The machine's own congestion control is not asked, and no packet is more than half a bucket."""
    with Testbed.build(nodes=1, rails=1, rate_bytes_per_s=rate) as bed:
        assert on_node(bed, 0, "cat", str(kernel.CONGESTION_CONTROL)) == f"{build.CONGESTION_CONTROL}\n"
        rail, mgmt = (
            json.loads(on_node(bed, 0, "ip", "-json", "-details", "link", "show", link))[0]["gso_max_size"]
            for link in ("rail0", "mgmt")
        )
        (bucket,) = json.loads(on_node(bed, 0, "tc", "-json", "qdisc", "show", "dev", "rail0"))
    assert (rail, mgmt) == (packet, 65536)
    assert bucket["options"]["burst"] >= 0.99 * 2 * packet  # the kernel counts in ticks of time


def test_two_side_by_side(bed):
    """A second network with the same addresses has its own traffic and its own cuts, and goes alone."""
    with Testbed.build(nodes=2, rails=2) as other:
        other.cut(Nic(1, 0))
        assert reaches(bed, 0, 1, rail=0)
        assert not reaches(other, 0, 1, rail=0)
        assert {bed.name, other.name} <= set(build.networks())
    assert other.name not in build.networks()
    assert reaches(bed, 0, 1, rail=0)


def test_name_that_is_taken(bed):
    """A second network with the same name is refused, and the first one stays."""
    with pytest.raises(UsageError, match=f"testbed {bed.name} is there already"):
        Testbed.build(nodes=1, rails=1, name=bed.name)
    assert len(build.parts_of(bed.name)) == 3


def test_exception_inside():
    """A network goes also when the program that used it fails."""

    class PlantedError(Exception): ...

    with pytest.raises(PlantedError), Testbed.build(nodes=1, rails=1) as bed:
        raise PlantedError
    assert build.parts_of(bed.name) == []


@pytest.mark.parametrize("planted", [OSError("planted"), KeyboardInterrupt()], ids=["refused", "interrupted"])
def test_building_that_fails_half_way(monkeypatch, planted):
    """When the kernel refuses something, or the user interrupts, nothing stays of what was made before."""
    seen = []

    def refuse(*arguments):
        seen.extend(build.parts_of("halfway"))
        raise planted

    monkeypatch.setattr(Namespace, "limit", refuse)
    with pytest.raises(MachineError if isinstance(planted, OSError) else KeyboardInterrupt):
        Testbed.build(nodes=2, rails=1, name="halfway")
    assert seen == ["r2cc-halfway-n0", "r2cc-halfway-switch"]
    assert build.parts_of("halfway") == []


def test_only_parts_are_left(bed):
    """A network without its switches is no network, but can be taken down."""
    kernel.remove(build.switch_of(bed.name))
    with pytest.raises(UsageError, match=f"only parts are left of testbed {bed.name}"):
        Testbed(bed.name)
    build.take_apart(bed.name)
    assert build.parts_of(bed.name) == []


def test_unknown_network():
    """A network that is not there is named, with those that are."""
    with pytest.raises(UsageError, match="there is no testbed nowhere"):
        Testbed("nowhere")


@pytest.mark.parametrize(
    ("namespace", "network"),
    [
        ("r2cc-a-n0", "a"),
        ("r2cc-a-switch", "a"),
        ("r2cc-a", ""),
        ("r2cc-a-x", ""),
        ("a-n0", ""),
        ("r2cc--n0", ""),
    ],
)
def test_whose_namespace(namespace, network):
    """Only namespaces with our kind of name are taken for parts of a network."""
    assert build.network_of(namespace) == network
