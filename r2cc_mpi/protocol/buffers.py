"""Private buffers for chunks in flight, and the one rule that keeps them safe.

A buffer is used again only when its chunk is no longer needed **and** no send of it is pending. After a rail
died a send can stay pending for minutes and deliver whatever the buffer holds *then*; neither sequence
numbers nor epochs could catch that. Such buffers wait in quarantine, and fresh ones take their place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from r2cc_mpi.protocol.header import HEADER_BYTES


class Buffer:
    """Header and payload of one chunk in contiguous private memory.

    Attributes:
        raw: The whole buffer, uint8: 64 bytes of header, then the payload.
        payload: View of the payload.
        pending: Sends that have not completed; whoever sends counts up, the completion counts down.
    """

    __slots__ = ("payload", "pending", "raw")

    def __init__(self, payload_bytes: int) -> None:
        self.raw: npt.NDArray[np.uint8] = np.empty(HEADER_BYTES + payload_bytes, np.uint8)
        self.payload: npt.NDArray[np.uint8] = self.raw[HEADER_BYTES:]
        self.pending = 0


class BufferPool:
    """Hands out buffers and takes them back, honouring pending sends.

    Args:
        payload_bytes: Payload capacity of each buffer.
    """

    def __init__(self, payload_bytes: int) -> None:
        self.payload_bytes = payload_bytes
        self._free: list[Buffer] = []
        self._quarantine: list[Buffer] = []

    @property
    def quarantined(self) -> int:
        """Number of buffers that are done with but still pending on some send."""
        return len(self._quarantine)

    def take(self) -> Buffer:
        """Return a buffer that nobody uses."""
        return self._free.pop() if self._free else Buffer(self.payload_bytes)

    def give_back(self, buffer: Buffer) -> None:
        """Take back a buffer whose chunk is no longer needed."""
        (self._quarantine if buffer.pending else self._free).append(buffer)

    def sweep(self) -> None:
        """Free the quarantined buffers whose sends have completed meanwhile."""
        if self._quarantine:
            self._free += [buffer for buffer in self._quarantine if not buffer.pending]
            self._quarantine = [buffer for buffer in self._quarantine if buffer.pending]
