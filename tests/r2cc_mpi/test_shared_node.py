from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from r2cc_mpi import shared_memory
from r2cc_mpi.errors import MachineError
from r2cc_mpi.protocol.header import HEADER_BYTES
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.shared_node import WORD, SharedNode

SETTINGS, BODY = Settings(window=3, chunk_bytes=128), 64


@pytest.fixture
def space(monkeypatch, tmp_path):
    """Let the machine have as much shared memory as the test says: free, and in all."""
    monkeypatch.setattr(shared_memory, "DIRECTORY", tmp_path)

    def have(free_bytes, all_bytes=0):
        answer = SimpleNamespace(f_bavail=free_bytes // 64, f_blocks=all_bytes // 64, f_frsize=64)
        monkeypatch.setattr("os.statvfs", lambda _: answer)

    return have


def node_of(rails, rank=0, ranks=None):
    """Make one rank's end of a node, in plain memory instead of an MPI window; give the memory too."""
    ranks = rails if ranks is None else ranks
    node = SharedNode.__new__(SharedNode)
    node._rails, node._ranks, node._rank = rails, ranks, rank
    node._chunk_slots, node._chunk_slot = SETTINGS.window, HEADER_BYTES + SETTINGS.chunk_bytes
    node._control_slot = HEADER_BYTES + BODY
    memory = np.zeros(SharedNode.fixed_bytes(rails, SETTINGS, BODY, ranks), np.uint8)
    words = SharedNode._words_count(rails, ranks)
    node._words = memoryview(memory[: words * WORD].data).cast("q")
    node._mailboxes = memory[words * WORD :]
    node.contributed, node.finished = node._words[:ranks], node._words[ranks : 2 * ranks]
    node.copied = node._words[2 * ranks : 3 * ranks]
    node._window = cast("Any", SimpleNamespace(Sync=lambda: None))
    return node, memory


def cells_of(node, memory, producer, consumer, *, chunks):
    """Say which bytes of the memory a ring uses, and which words, as two sets."""
    memory[:] = 0
    ring = node._ring(producer, consumer, chunks=chunks)
    ring._slots[:] = 1
    ring._words[ring._written], ring._words[ring._read] = -1, -1
    words = len(node._words) * WORD
    return set(np.flatnonzero(memory[words:]).tolist()), set(np.flatnonzero(memory[:words]).tolist())


def overlaps(node, memory):
    """List what several rings, or a ring and the node's counters, share; also memory that no ring uses."""
    used: set[int] = set()
    words = set(range(3 * node._ranks * WORD))
    found: list[object] = []
    pairs = itertools.permutations(range(node._ranks), 2)
    for (producer, consumer), chunks in itertools.product(pairs, (True, False)):
        slots, counters = cells_of(node, memory, producer, consumer, chunks=chunks)
        if slots & used or counters & words:
            found.append((producer, consumer, chunks))
        used |= slots
        words |= counters
    return found if len(used) + len(words) == len(memory) else [*found, "unused memory"]


@pytest.mark.parametrize(("rails", "ranks"), [(1, 1), (2, 2), (3, 3), (4, 4), (1, 2), (1, 4), (2, 3), (2, 5)])
def test_every_ring_has_memory_of_its_own(rails, ranks):
    """The rings and counters of a node fill its first window, and no byte belongs to two of them."""
    assert overlaps(*node_of(rails, ranks=ranks)) == []


def test_ranks_without_a_rail_exchange_no_chunks():
    """From or to a rank that owns no rail there are control messages, but no slot for a chunk."""
    node, _ = node_of(2, ranks=3)
    for producer, consumer in itertools.permutations(range(3), 2):
        is_owners = {producer, consumer} == {0, 1}
        assert node._ring(producer, consumer, chunks=True).put(bytes(HEADER_BYTES), b"") is is_owners
        assert node._ring(producer, consumer, chunks=True).front() is None or is_owners
        assert node._ring(producer, consumer, chunks=False).put(bytes(HEADER_BYTES), b"")


def test_shared_bytes_would_be_seen():
    """The check finds rings that were laid over each other."""
    node, memory = node_of(2)
    ring = node._ring
    node._ring = lambda _producer, consumer, chunks: ring(0, consumer, chunks=chunks)
    assert overlaps(node, memory) == [
        (1, 0, True),
        (1, 0, False),
        "unused memory",
    ]


def test_outbox_and_inbox_are_two_ends_of_one_ring():
    """What a rank puts into its outbox for a neighbour comes out of the neighbour's inbox for it, alone."""
    ends = [node_of(3, rail)[0] for rail in range(3)]
    for end in ends[1:]:
        end._words, end._mailboxes = ends[0]._words, ends[0]._mailboxes
    for source, target in itertools.permutations(range(3), 2):
        outbox = ends[source]._ring(source, target, chunks=False)
        assert outbox.put(bytes(HEADER_BYTES), b"!")
        waiting = [
            (producer, consumer)
            for producer, consumer in itertools.permutations(range(3), 2)
            if ends[consumer]._ring(producer, consumer, chunks=False).front() is not None
        ]
        assert waiting == [(source, target)]
        ends[target]._ring(source, target, chunks=False).release()


def test_room_is_enough_at_the_byte(space):
    """Exactly as much as is needed is enough; a block less is not."""
    space(6400)
    shared_memory.check_free(6400, "the mailboxes")
    space(6400 - 64)
    with pytest.raises(MachineError, match="the mailboxes needs 1 MiB: enlarge it"):
        shared_memory.check_free(6400, "the mailboxes")


def test_shortage_is_said_in_mebibytes(space):
    """What there is is rounded down and what is needed up, so that the numbers cannot look alike."""
    space((16 << 20) + 64)
    with pytest.raises(MachineError, match=r"has 16 MiB free, it needs 17 MiB"):
        shared_memory.check_free((16 << 20) + 128, "it")


def test_room_for_mpi_counts_all_there_is(space):
    """Before MPI starts the size of the file system counts, not what other ranks have left of it."""
    space(0, 4 * shared_memory.MPI_BYTES_PER_RANK)
    shared_memory.check_room_for_mpi(4)
    with pytest.raises(MachineError, match="MPI with 5 ranks on a host needs"):
        shared_memory.check_room_for_mpi(5)


def test_machine_without_the_file_system(monkeypatch, tmp_path):
    """Where there is no such folder nothing is known, so nothing is refused."""
    monkeypatch.setattr(shared_memory, "DIRECTORY", tmp_path / "missing")
    shared_memory.check_free(10**18, "it")
    shared_memory.check_room_for_mpi(10**6)


class Host:
    """Stands for the communicator of the ranks of a host; rank 0's word reaches this rank."""

    def __init__(self, size, rank=0, word=""):
        self.size, self.rank, self.word = size, rank, word

    def bcast(self, text, _root):
        """Give what rank 0 says."""
        return text if self.rank == 0 else self.word


def test_all_nodes_of_a_host_share_its_memory(space):
    """The needs of all nodes of the host are added up before any of them takes its part."""
    node, _ = node_of(rails=2)
    node._host = Host(size=6)
    space(3 * 640)
    node.check_host(640, "the nodes")
    with pytest.raises(MachineError, match="the nodes needs"):
        node.check_host(641, "the nodes")


def test_every_rank_of_a_host_hears_of_the_shortage(space):
    """A rank that has not looked itself raises what rank 0 found."""
    node, _ = node_of(rails=2)
    node._host = Host(size=6, rank=3, word="there is too little")
    space(10**9)
    with pytest.raises(MachineError, match="there is too little"):
        node.check_host(640, "the nodes")
