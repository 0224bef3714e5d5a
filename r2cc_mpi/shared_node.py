"""The memory that the ranks of a node share, in two MPI windows.

One window holds the words and the mailboxes and lives as long as the communicator. The other holds the node
buffer and one word per operation; it grows, by agreement of all the node's ranks, when a call needs more.
Every word has one writer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from r2cc_mpi.errors import MachineError
from r2cc_mpi.mailbox import CONTROL_SLOTS, Inbox, Outbox, Ring
from r2cc_mpi.protocol.buffers import BufferPool
from r2cc_mpi.protocol.header import HEADER_BYTES
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.shared_memory import check_free

if TYPE_CHECKING:
    from mpi4py import MPI

WORD = 8


class SharedNode:
    """Shared memory of one node; implements :class:`r2cc_mpi.executor.NodeMemory`.

    Args:
        comm: Communicator of the node's ranks, ordered by rail; the last ones may own none.
        host: Communicator of all ranks on this host; several nodes may share it and its memory.
        rails: How many of the node's ranks own a rail. No chunk is handed over to or by the others.
        settings: Its window and the bytes of a chunk say what a mailbox holds.
        body_bytes: Most bytes of a control message's body.

    Attributes: see :class:`r2cc_mpi.executor.NodeMemory`.
    """

    def __init__(
        self, comm: MPI.Intracomm, host: MPI.Comm, rails: int, settings: Settings, body_bytes: int
    ) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm, self._host = comm, host
        self._rails, self._ranks, self._rank = rails, comm.size, comm.rank
        self._chunk_slots, self._chunk_slot = settings.window, HEADER_BYTES + settings.chunk_bytes
        self._control_slot = HEADER_BYTES + body_bytes
        words = self._words_count(rails, comm.size)
        self._fixed_bytes = self.fixed_bytes(rails, settings, body_bytes, comm.size)
        self._window, memory = self._allocate(self._fixed_bytes)
        self._words = memoryview(memory[: words * WORD].data).cast("q")
        self._mailboxes = memory[words * WORD :]
        self.contributed = self._words[: self._ranks]
        self.finished = self._words[self._ranks : 2 * self._ranks]
        self.copied = self._words[2 * self._ranks : 3 * self._ranks]
        self._data_window: MPI.Win | None = None
        self._meeting: MPI.Request | None = None
        self._freeing: MPI.Request | None = None
        self._all_want_to_free = False
        self.buffer = np.empty(0, np.uint8)
        self.done = memoryview(b"").cast("B")

    @staticmethod
    def fixed_bytes(rails: int, settings: Settings, body_bytes: int, ranks: int | None = None) -> int:
        """Bytes of the first window of one node; ``ranks`` if they are more than the rails."""
        ranks = rails if ranks is None else ranks
        chunk_rings = _pairs(rails) * settings.window * (HEADER_BYTES + settings.chunk_bytes)
        control_rings = _pairs(ranks) * CONTROL_SLOTS * (HEADER_BYTES + body_bytes)
        return SharedNode._words_count(rails, ranks) * WORD + chunk_rings + control_rings

    @staticmethod
    def _words_count(rails: int, ranks: int) -> int:
        return 3 * ranks + 2 * _pairs(rails) + 2 * _pairs(ranks)

    def _allocate(self, size: int) -> tuple[MPI.Win, np.ndarray[tuple[int], np.dtype[np.uint8]]]:
        own = size if self._rank == 0 else 0
        window = self._mpi.Win.Allocate_shared(own, 1, comm=self._comm)
        window.Lock_all(self._mpi.MODE_NOCHECK)
        base, _ = window.Shared_query(0)
        memory = np.frombuffer(base, np.uint8, size)  # type: ignore[call-overload]  # MPI's buffer type
        if self._rank == 0:
            words = self._words_count(self._rails, self._ranks)
            memory[: min(size, words * WORD)] = 0  # the words of the first window
        window.Sync()
        self._comm.Barrier()
        window.Sync()
        return window, memory

    def has_room(self, buffer_bytes: int, operations: int) -> bool:
        """Say whether a call fits into what is there."""
        return buffer_bytes <= len(self.buffer) and operations <= len(self.done)

    def everyone_came(self) -> bool:
        """Say whether all ranks of this host have come here; the first question announces this rank.

        What follows blocks inside MPI until all have come, so a rank asks first, and can turn back.
        """
        if self._meeting is None:
            self._meeting = self._host.Ibarrier()
        if not self._meeting.Test():
            return False
        self._meeting = None
        return True

    def ensure(self, buffer_bytes: int, operations: int) -> None:
        """Make room for a call; all ranks of the host call it alike. Frees and allocates only to grow.

        Raises:
            MachineError: ``/dev/shm`` is too small; every rank of the host raises.
        """
        if self.has_room(buffer_bytes, operations):
            return
        buffer_bytes = max(buffer_bytes, len(self.buffer))
        operations = max(operations, len(self.done))
        aligned = -(-buffer_bytes // 64) * 64
        size = aligned + operations * WORD
        self._free_data()
        self._host.Barrier()
        self.check_host(size + self._fixed_bytes, "the shared memory of this host's nodes")
        self._data_window, memory = self._allocate(size)
        self.buffer = memory[:buffer_bytes]
        if self._rank == 0:
            memory[aligned:] = 0
        self._comm.Barrier()
        self.done = memoryview(memory[aligned:].data).cast("q")

    def check_host(self, bytes_per_node: int, what: str) -> None:
        """Make sure that every node of this host can allocate so much; all its ranks call it.

        Pages of shared memory are taken only when they are first written, so a look at the free space by each
        node for itself would count them twice.

        Raises:
            MachineError: ``/dev/shm`` is too small; every rank of the host raises.
        """
        error = ""
        if self._host.rank == 0:
            try:
                check_free(bytes_per_node * self._host.size // self._ranks, what)
            except MachineError as short:
                error = str(short)
        error = self._host.bcast(error, 0)
        if error:
            raise MachineError(error)

    def fence(self) -> None:
        """Order the payload and the words."""
        self._window.Sync()

    def _ring(self, producer: int, consumer: int, *, chunks: bool) -> Ring:
        if chunks and max(producer, consumer) >= self._rails:
            no_words = memoryview(bytearray(2 * WORD)).cast("q")
            return Ring(np.empty((0, self._chunk_slot), np.uint8), no_words, 0, self.fence)
        members = self._rails if chunks else self._ranks
        slots, slot = (self._chunk_slots, self._chunk_slot) if chunks else (CONTROL_SLOTS, self._control_slot)
        pair = producer * (members - 1) + consumer - (consumer > producer)
        first_word = 3 * self._ranks + 2 * pair
        offset = pair * slots * slot
        if not chunks:  # they come after the rings for chunks
            first_word += 2 * _pairs(self._rails)
            offset += _pairs(self._rails) * self._chunk_slots * self._chunk_slot
        memory = self._mailboxes[offset : offset + slots * slot].reshape(slots, slot)
        return Ring(memory, self._words, first_word, self.fence)

    def outbox(self, place: int) -> Outbox:
        """Return this rank's way to another rank of the node, which owns the rail of that number if any."""
        return Outbox(self._ring(self._rank, place, chunks=True), self._ring(self._rank, place, chunks=False))

    def inbox(self, place: int, pool: BufferPool) -> Inbox:
        """Return this rank's way from another rank of the node."""
        return Inbox(
            self._ring(place, self._rank, chunks=True), self._ring(place, self._rank, chunks=False), pool
        )

    def _free_data(self) -> None:
        self.buffer = np.empty(0, np.uint8)
        self.done = memoryview(b"").cast("B")
        if self._data_window is not None:
            self._data_window.Unlock_all()
            self._data_window.Free()
            self._data_window = None

    def may_be_freed(self) -> bool:
        """Say whether all ranks of the node want to free; the first question announces this rank."""
        if self._freeing is None:
            self._freeing = self._comm.Ibarrier()
        return self._all_want_to_free or self._test_freeing(self._freeing)

    def _test_freeing(self, request: MPI.Request) -> bool:
        self._all_want_to_free = request.Test()
        return self._all_want_to_free

    def free(self) -> None:
        """Free the windows; collective over the node. A window not freed makes MPI abort in Finalize."""
        self._free_data()
        self._window.Unlock_all()
        self._window.Free()


def _pairs(members: int) -> int:
    return members * (members - 1)
