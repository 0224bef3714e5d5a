from __future__ import annotations

from algorithms.nic import Hop, Nic, describe_route, nics_of


def test_names_read_as_words():
    """NICs, hops and routes print in the project's terms."""
    assert str(Nic(node=1, rail=2)) == "node 1 rail 2"
    assert str(Hop(rail=2, node=1)) == "rail 2 to node 1"
    assert describe_route(0, (Hop(1, 2), Hop(0, 3))) == "node 0 -(rail 1)-> node 2 -(rail 0)-> node 3"


def test_each_hop_uses_two_nics_of_its_rail():
    """A hop leaves through the NIC of the node it starts from and arrives through that of the next one."""
    route = (Hop(rail=1, node=2), Hop(rail=0, node=3))
    assert nics_of(0, route) == [(Nic(0, 1), Nic(2, 1)), (Nic(2, 0), Nic(3, 0))]
    assert nics_of(0, ()) == []
