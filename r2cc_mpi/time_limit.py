"""Gives up a collective that takes longer than the user allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from r2cc_mpi.communicator import Communicator
from r2cc_mpi.driver import clock

ANSWER_S = 1.0
"""How long ranks get to say whether they have finished; one that is stopped never will."""


class TimeLimit:
    """Watches the time that one rank's calls take.

    When a call is overdue, the rank asks all ranks whether they have finished it, and then tells all of them
    to give up, as with any other error. So all ranks end alike, those that sit in another call or between
    calls too.

    Args:
        comm: The communicator.
        seconds: The limit for each call; None sets none.
    """

    def __init__(self, comm: Communicator, seconds: float | None) -> None:
        self._comm, self._seconds = comm, seconds
        self._began_at: float | None = None
        if seconds is not None:
            comm.add_hook(self.look)

    @property
    def is_watching(self) -> bool:
        """Whether a call is being watched."""
        return self._began_at is not None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Apply the limit to the call that is made inside."""
        self._began_at = clock()
        try:
            yield
        finally:
            self._began_at = None

    def look(self, now: float) -> None:
        """Give up if a call is overdue; the driver calls this on every poll."""
        if self._seconds is None or self._began_at is None or now <= self._began_at + self._seconds:
            return
        roll = self._comm.call_roll()
        silent = roll.silent()
        if silent and now <= self._began_at + self._seconds + ANSWER_S:
            return
        if silent or roll.behind():  # else only results are still being copied out
            self._began_at = None
            self._comm.give_up(self._reason(roll.behind(), silent))

    def _reason(self, behind: list[int], silent: list[int]) -> str:
        parts = [("not finished", behind), ("no answer", silent)]
        who = "; ".join(f"{what}: {self._names(ranks)}" for what, ranks in parts if ranks)
        return (
            f"a collective took longer than {self._seconds:g} s (-T); {who}; "
            "look at these ranks and their rails, or allow more time"
        )

    def _names(self, ranks: list[int]) -> str:
        return ", ".join(self._comm.layout.describe(rank) for rank in ranks)
