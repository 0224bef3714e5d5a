"""Who still answers: a stall is not death, but silence on every route for long enough ends a collective.

A rank that waits without progress floods a HELLO; everyone who hears it answers with a HELLO of its own, also
ranks that are between collectives. A flooded message takes every path there is, so a rank that is not heard
of cannot be reached by any route. Its process may be stopped or its node cut off; either way the collective
cannot complete.
"""

from __future__ import annotations

from algorithms.nic import Nic


class Liveness:
    """When each rank of the job was last heard of, and when to say HELLO.

    Args:
        me: Number of this rank.
        ranks: Number of ranks.
        stall_s: Seconds without progress after which a rank asks, and between its HELLOs.
        isolation_timeout_s: Seconds of silence after which a waiting rank gives up.
    """

    def __init__(self, me: int, ranks: int, stall_s: float, isolation_timeout_s: float) -> None:
        self._me = me
        self._stall_s, self._isolation_timeout_s = stall_s, isolation_timeout_s
        self._heard_at = [float("-inf")] * ranks
        self._heard_number = [0] * ranks
        self._number = 0
        self._said_at = float("-inf")
        self._waiting_since: float | None = None
        self.progress_count = 0
        """How often this rank has got on; a loop that polls sees by it whether a round was of use."""

    def heard(self, rank: int, number: int, now: float) -> bool:
        """Note a HELLO.

        Returns:
            Whether it is new, and so must be passed on.
        """
        if rank == self._me or number <= self._heard_number[rank]:
            return False
        self._heard_number[rank] = number
        self._heard_at[rank] = now
        return True

    def progress(self, now: float) -> None:
        """Note that this rank waits for others and has just got on."""
        self._waiting_since = now
        self.progress_count += 1

    def forgive(self, pause_s: float) -> None:
        """Discount a time in which this process did not run: the others' silence then proves nothing."""
        if self._waiting_since is not None:
            self._waiting_since += pause_s
        self._heard_at = [at + pause_s for at in self._heard_at]

    def rest(self) -> None:
        """Note that this rank waits for nobody."""
        self._waiting_since = None

    def is_stuck(self, now: float) -> bool:
        """Say whether this rank has waited for longer than the stall time."""
        return self._waiting_since is not None and now > self._waiting_since + self._stall_s

    def next_hello(self, now: float, *, answer: bool = False) -> int | None:
        """Return the number for a HELLO, or None when the last one was too recent.

        Args:
            now: The time.
            answer: Whether it answers another rank's HELLO; answers may be twice as frequent.
        """
        if now < self._said_at + self._stall_s * (0.5 if answer else 1.0):
            return None
        self._said_at = now
        self._number += 1
        return self._number

    def silent_ranks(self, now: float) -> list[int]:
        """Ranks that have been silent for the isolation timeout while this rank was waiting."""
        if self._waiting_since is None or now <= self._waiting_since + self._isolation_timeout_s:
            return []
        limit = now - self._isolation_timeout_s
        return [rank for rank, at in enumerate(self._heard_at) if rank != self._me and at < limit]


def nodes_of(ranks: list[int], rails: int) -> list[int]:
    """Node numbers of ranks, sorted, each once."""
    return sorted({rank // rails for rank in ranks})


def describe(silent: list[int], nodes: int, rails: int, timeout_s: float) -> str:
    """Say in one line who did not answer, and which nodes did."""
    lost = nodes_of(silent, rails)
    if all(node * rails + rail in silent for node in lost for rail in range(rails)):
        who = _names(lost)
        rest = [node for node in range(nodes) if node not in lost]
        where = f"the live rails no longer connect {_names(lost)} with {_names(rest)}"
    else:
        who = ", ".join(f"rank {rank} ({Nic(*divmod(rank, rails))})" for rank in silent)
        where = "its process may be stopped" if len(silent) == 1 else "their processes may be stopped"
    return (
        f"the collective cannot complete: no answer by any route for {timeout_s:g} s from {who}; {where}; "
        "repair a rail between them, or run without the nodes that are cut off"
    )


def _names(nodes: list[int]) -> str:
    return f"node{'s' if len(nodes) != 1 else ''} {', '.join(map(str, nodes))}"
