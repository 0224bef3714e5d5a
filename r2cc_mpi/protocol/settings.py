"""The protocol's few numbers, in one place."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CHUNK_BYTES = 1024 * 1024
"""On a rail that is not paced: there the work that each chunk causes takes as long as copying 100 KiB."""
MAX_PACED_CHUNK_BYTES = 256 * 1024
"""Finer, so that a repair sends little again, and steps of a schedule follow each other closely."""
MIN_CHUNK_BYTES = 16 * 1024
PACED_WINDOW = 8
CHUNK_TIME_S = 0.02
"""On a paced rail a chunk takes about this long at most, so that progress is visible well within the stall
time.
"""


@dataclass(frozen=True)
class Settings:
    """Sizes and times of the protocol.

    Attributes:
        window: Chunks of one channel that may be captured but not yet consumed.
        chunk_bytes: Most payload bytes of one chunk.
        stall_s: Seconds without an acknowledgement (or, inside a collective, without any progress) after
            which a rank starts to ask. A stall is a question, never a verdict.
        probe_s: Seconds between the two questions of a differential probe.
        isolation_timeout_s: Seconds without an answer from a rank, by any route, before the collective is
            given up.
        damping_s: Seconds a recovered NIC waits before it is offered again; doubles with every flap.
    """

    window: int = 4
    chunk_bytes: int = MAX_CHUNK_BYTES
    stall_s: float = 0.5
    probe_s: float = 0.25
    isolation_timeout_s: float = 10.0
    damping_s: float = 0.1

    @classmethod
    def for_rate(cls, rate_bytes_per_s: float | None, isolation_timeout_s: float = 10.0) -> Settings:
        """Choose sizes and times for rails of a given rate.

        The stall time is at least four windows long and a probe lasts at least sixteen chunks, so that a rail
        slowed to a tenth of its rate still moves its receive counter between two questions.

        Args:
            rate_bytes_per_s: Rate of one rail in one direction, or None when it is not paced.
            isolation_timeout_s: See the attribute.
        """
        if rate_bytes_per_s is None:
            return cls(isolation_timeout_s=isolation_timeout_s)
        chunk_bytes = int(min(MAX_PACED_CHUNK_BYTES, max(MIN_CHUNK_BYTES, rate_bytes_per_s * CHUNK_TIME_S)))
        chunk_bytes -= chunk_bytes % 64
        stall_s = max(0.5, 4 * PACED_WINDOW * chunk_bytes / rate_bytes_per_s)
        return cls(
            window=PACED_WINDOW,
            chunk_bytes=chunk_bytes,
            stall_s=stall_s,
            probe_s=stall_s / 2,
            isolation_timeout_s=isolation_timeout_s,
        )
