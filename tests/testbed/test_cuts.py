from __future__ import annotations

import time

import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from scripts.network.links import How
from tests.testbed.talk import on_node, reaches

CUT = Nic(1, 0)


@pytest.mark.parametrize(
    ("how", "flags"),
    [(How.LINK_DOWN, "down down"), (How.PORT_DOWN, "up no carrier"), (How.BLACK_HOLE, "up carrier")],
    ids=lambda value: getattr(value, "value", None),
)
def test_cut_and_heal(bed, how, flags):
    """A cut stops the rail at that node in both directions, and nothing else; heal undoes it."""
    assert reaches(bed, 0, 1, rail=0)
    moment = bed.cut(CUT, how)
    assert moment.before_s < moment.after_s <= time.monotonic()
    assert [(link.nic, link.cut) for link in bed.links() if link.cut] == [(CUT, how)]
    assert state_seen_by(bed, CUT) == flags
    assert not reaches(bed, 0, 1, rail=0)
    assert not reaches(bed, 1, 0, rail=0)
    assert reaches(bed, 0, 1, rail=1)
    bed.heal(CUT)
    assert [link.cut for link in bed.links()] == [None] * 4
    assert state_seen_by(bed, CUT) == "up carrier"
    assert reaches(bed, 0, 1, rail=0)
    assert reaches(bed, 1, 0, rail=0)
    assert bed.link(CUT).rate_bytes_per_s == 12.5e6


def test_counters(bed):
    """The kernel counts what a node sends and receives on the rail that carries it."""
    before = bed.link(Nic(0, 1)), bed.link(Nic(1, 1)), bed.link(Nic(0, 0))
    assert reaches(bed, 0, 1, rail=1)
    after = bed.link(Nic(0, 1)), bed.link(Nic(1, 1)), bed.link(Nic(0, 0))
    assert after[0].tx_bytes - before[0].tx_bytes >= len(b"hello")
    assert after[1].rx_bytes - before[1].rx_bytes >= len(b"hello")
    assert after[2].tx_bytes == before[2].tx_bytes


def test_mistakes(bed):
    """A NIC that does not exist, and a link that is cut already, are refused; healing twice is none."""
    with pytest.raises(UsageError, match="has no node 2 rail 0: nodes are 0 to 1, rails 0 to 1"):
        bed.cut(Nic(2, 0))
    bed.cut(CUT)
    with pytest.raises(UsageError, match=r"node 1 rail 0 is cut already \(link-down\)"):
        bed.cut(CUT, How.BLACK_HOLE)
    bed.heal(CUT)
    bed.heal(CUT)
    assert bed.link(CUT).cut is None


def state_seen_by(bed, nic):
    """Say what a program on the node sees of its link: switched on or not, and the carrier."""
    folder = f"/sys/class/net/rail{nic.rail}"
    if not int(on_node(bed, nic.node, "cat", f"{folder}/flags"), 16) & 1:
        return "down " + on_node(bed, nic.node, "cat", f"{folder}/operstate").strip()
    return "up " + {"0\n": "no carrier", "1\n": "carrier"}[on_node(bed, nic.node, "cat", f"{folder}/carrier")]
