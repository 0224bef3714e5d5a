from __future__ import annotations

from r2cc_mpi.protocol.header import Kind
from tests.protocol.wires import ME, PEER, SETTINGS, JoinedEngines, capture


def joined(nodes=3):
    """Make engines that are joined back to back, with chunks on one channel."""
    cluster = JoinedEngines(nodes, 2, SETTINGS)
    capture(cluster.engines[ME], chunks=4)
    return cluster


def landed(cluster):
    """Count the chunks that node 1 has from node 0."""
    return cluster.engines[PEER].receiver(1 - PEER.node).expected


def loses_rail_of(nic):
    """Lose whatever uses a NIC."""
    return lambda source, target, _: source.rail == target.rail == nic.rail and nic in (source, target)


def test_chunks_reach_the_peer():
    """Over wires that work the chunks land, and nothing but chunks and acknowledgements is sent."""
    cluster = joined()
    cluster.turn(0.0)
    cluster.turn(0.1)
    assert landed(cluster) == 4
    assert cluster.engines[ME].sender(1).is_settled
    assert {kind for kind, count in cluster.carried.items() if count} == {Kind.DATA, Kind.ACK}


def test_silent_death_is_found_and_repaired():
    """A NIC that dies without a word is blamed by triangulation, and all the chunks land another way."""
    cluster = joined()
    cluster.loses = loses_rail_of(PEER)
    for tick in range(1, 300):
        cluster.turn(tick * 0.01)
    assert landed(cluster) == 4
    for engine in cluster.engines.values():
        assert engine.health.down() == [PEER]


def test_dead_nic_comes_back_by_itself():
    """When a NIC that was blamed works again, its owner's probes bring it back on every rank."""
    cluster = joined()
    cluster.loses = loses_rail_of(PEER)
    for tick in range(1, 300):
        cluster.turn(tick * 0.01)
    cluster.loses = lambda *_: False
    for tick in range(300, 500):
        cluster.turn(tick * 0.01)
    for engine in cluster.engines.values():
        assert engine.health.version(PEER) == 2
        assert engine.health.excluded() == [PEER]


def test_lost_chunk_is_sent_again_once():
    """One lost chunk costs one rewind, without any stall."""
    cluster = joined()
    lost: list[int] = []

    def lose_the_second(_source, _target, message):
        loses = message.header.kind is Kind.DATA and message.header.sequence == 1 and not lost
        lost.extend([1] * loses)
        return loses

    cluster.loses = lose_the_second
    for tick in range(4):
        cluster.turn(tick * 0.01)
    assert landed(cluster) == 4
    assert cluster.engines[ME].sender(1).generation == 1
    assert cluster.engines[ME].sender(1).resent_bytes == 3 * 8
    assert cluster.carried[Kind.PING] == 0
