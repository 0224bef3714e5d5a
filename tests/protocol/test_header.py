from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.header import HEADER_BYTES, MAX_HOPS, Flag, Header, Kind, pack, reversed_route, unpack

NODES, RAILS = st.integers(0, 2**16 - 1), st.integers(0, 2**8 - 1)
ROUTES = st.lists(st.builds(Hop, RAILS, NODES), max_size=MAX_HOPS).map(tuple)
HEADERS = st.builds(
    Header,
    kind=st.sampled_from(Kind),
    origin=st.builds(Nic, NODES, RAILS),
    target_rail=RAILS,
    route=ROUTES,
    hop=st.integers(0, MAX_HOPS),
    flags=st.integers(0, 7).map(Flag),
    generation=st.integers(0, 2**16 - 1),
    collective=st.integers(0, 2**32 - 1),
    sequence=st.integers(0, 2**64 - 1),
    landed=st.integers(0, 2**64 - 1),
    consumed=st.integers(0, 2**64 - 1),
    length=st.integers(0, 2**32 - 1),
)
BYTES_FOR_THE_RAIL = 4


@given(HEADERS)
def test_every_header_survives_the_wire(header):
    """Reading 64 bytes gives the header that was written, field by field."""
    raw = pack(header)
    assert len(raw) == HEADER_BYTES
    assert unpack(raw) == header
    assert isinstance(unpack(raw).kind, Kind)


@given(HEADERS, st.binary(min_size=BYTES_FOR_THE_RAIL, max_size=BYTES_FOR_THE_RAIL))
def test_last_four_bytes_belong_to_the_rail(header, stamp):
    """A header never uses its last four bytes, so a rail can put a stamp there."""
    assert unpack(pack(header)[:-BYTES_FOR_THE_RAIL] + stamp) == header


def test_a_route_that_does_not_fit_is_refused():
    """A route with more hops than a header holds is an error that names both numbers."""
    route = (Hop(0, 1), Hop(0, 0)) * 3
    header = Header(Kind.DATA, Nic(0, 0), 0, route)
    assert unpack(pack(header)).route == route
    with pytest.raises(ValueError, match=f"7 hops .*at most {MAX_HOPS}"):
        pack(header._replace(route=(*route, Hop(0, 1))))


@given(st.builds(Nic, NODES, RAILS), ROUTES)
def test_reversed_route_leads_back(origin, route):
    """The way back visits the same nodes over the same rails in the other order."""
    back = reversed_route(origin, route)
    nodes = [origin.node, *(hop.node for hop in route)]
    assert [hop.node for hop in back] == nodes[-2::-1] if route else back == ()
    assert [hop.rail for hop in back] == [hop.rail for hop in reversed(route)]
    assert reversed_route(Nic(nodes[-1], 0), back) == route


def test_target_node_is_where_the_route_ends():
    """A message is for the route's last node; without a route it stays on its node."""
    header = Header(Kind.ASK, Nic(3, 1), 0, (Hop(1, 4), Hop(0, 2)))
    assert header.target_node == 2
    assert header._replace(route=()).target_node == 3


def test_travelling_counts_hops():
    """One more hop changes the number of hops travelled and nothing else."""
    header = Header(Kind.DATA, Nic(0, 0), 0, (Hop(0, 1), Hop(1, 2)), sequence=7)
    assert header.travelled() == header._replace(hop=1)
    assert header.travelled().travelled().hop == 2
