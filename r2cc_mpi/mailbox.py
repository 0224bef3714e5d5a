"""Hand-overs between two ranks of a node: rings of slots in the node's shared memory.

Each ring has one producer and one consumer. Two rings per direction, so that a control message never waits
behind chunks. A full control ring makes its producer keep the message in private memory and try again; a full
chunk ring refuses the chunk, and its channel's sender makes the loss good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from r2cc_mpi.protocol.buffers import BufferPool
from r2cc_mpi.protocol.header import HEADER_BYTES, pack, unpack
from r2cc_mpi.protocol.network import Message

CONTROL_SLOTS = 32
Bytes = npt.NDArray[np.uint8]
Fence = Callable[[], None]


class Ring:
    """Slots of equal size; the producer counts up ``written``, the consumer ``read``.

    One for chunks has as many as a window: HotRepair moves a channel to a neighbour rail, which has to take
    all of its chunks.

    Args:
        slots: Shared memory, uint8, shape (slots, bytes of a slot).
        words: Shared 64-bit words; this ring uses two of them, at ``first_word``.
        first_word: Index of ``written``; ``read`` follows.
        fence: Orders payload and words.
    """

    def __init__(self, slots: Bytes, words: memoryview, first_word: int, fence: Fence) -> None:
        self._slots, self._words, self._fence = slots, words, fence
        self._written, self._read = first_word, first_word + 1

    def put(self, header: bytes, payload: bytes | Bytes) -> bool:
        """Write a message into the next slot; say whether there was one."""
        written = self._words[self._written]
        if written - self._words[self._read] == len(self._slots):
            return False
        self._fence()
        slot = self._slots[written % len(self._slots)]
        slot[:HEADER_BYTES] = np.frombuffer(header, np.uint8)
        length = len(payload)
        slot[HEADER_BYTES : HEADER_BYTES + length] = (
            np.frombuffer(payload, np.uint8) if isinstance(payload, bytes) else payload
        )
        self._fence()
        self._words[self._written] = written + 1
        return True

    def front(self) -> Bytes | None:
        """Return the oldest slot that was written, or None."""
        read = self._words[self._read]
        if self._words[self._written] == read:
            return None
        self._fence()
        slot: Bytes = self._slots[read % len(self._slots)]
        return slot

    def release(self) -> None:
        """Give the front slot back to the producer."""
        self._fence()
        self._words[self._read] += 1


class Outbox:
    """This rank's way to one neighbour rank."""

    def __init__(self, chunks: Ring, controls: Ring) -> None:
        self._chunks, self._controls = chunks, controls
        self._waiting: deque[Message] = deque()

    def put(self, message: Message) -> bool:
        """Hand a message over; False only for a chunk that finds no slot."""
        if message.buffer is not None:
            payload = message.buffer.payload[: message.header.length]
            return self._chunks.put(pack(message.header), payload)
        self._waiting.append(message)
        self.flush()
        return True

    def flush(self) -> None:
        """Hand over control messages that found no slot before."""
        while self._waiting:
            message = self._waiting[0]
            if not self._controls.put(pack(message.header), message.body):
                return
            self._waiting.popleft()


class Inbox:
    """This rank's way from one neighbour rank."""

    def __init__(self, chunks: Ring, controls: Ring, pool: BufferPool) -> None:
        self._chunks, self._controls, self._pool = chunks, controls, pool

    def take_all(self) -> list[Message]:
        """Take out everything, chunks into private buffers: MPI never reads shared memory."""
        messages = []
        while (slot := self._controls.front()) is not None:
            header = unpack(slot[:HEADER_BYTES].tobytes())
            messages.append(Message(header, slot[HEADER_BYTES : HEADER_BYTES + header.length].tobytes()))
            self._controls.release()
        while (slot := self._chunks.front()) is not None:
            header = unpack(slot[:HEADER_BYTES].tobytes())
            buffer = self._pool.take()
            buffer.payload[: header.length] = slot[HEADER_BYTES : HEADER_BYTES + header.length]
            messages.append(Message(header, buffer=buffer))
            self._chunks.release()
        return messages
