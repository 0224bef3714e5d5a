"""Whether a link that was held for dead carries again what MPI still has for it, at the end of a job."""

from __future__ import annotations

from r2cc_mpi.netdev.rails import RailLink

LOOK_S = 0.1
STILL_BYTES = 32 * 1024
"""What an interface may send between two looks when nothing moves: repeats of TCP, our own last messages."""


class Draining:
    """Looks at what an interface sends.

    What goes over a link that has just come back are chunks that went another way long ago, and everybody
    drops them. But if a peer leaves in the middle of that, Open MPI ends the job with an error: it takes a
    reset connection for fatal (measured). So this rank stays until the link is quiet; the others wait for it
    where MPI ends.

    Args:
        link: The interface.
    """

    def __init__(self, link: RailLink) -> None:
        self._link = link
        self._looked_at = float("-inf")
        self._sent_bytes: int | None = None

    def goes_on(self, now: float) -> bool:
        """Say whether the interface has sent much lately; True also until that can be said."""
        if now < self._looked_at + LOOK_S:
            return True
        before, self._sent_bytes = self._sent_bytes, self._link.carried().sent
        self._looked_at = now
        return before is None or self._sent_bytes - before > STILL_BYTES
