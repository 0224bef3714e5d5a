"""Makes the failures of a fault plan happen to this rank's own rail, at the instants the user named."""

from __future__ import annotations

from dataclasses import dataclass

from r2cc_mpi.communicator import Communicator
from r2cc_mpi.faults import AtBytes, AtChunk, AtTime, Declared, Fault, FaultKind


@dataclass(frozen=True)
class Event:
    """A fault that happened.

    Attributes:
        fault: Which one.
        at: When, on :data:`r2cc_mpi.driver.clock`.
        iteration: The timed iteration that was running, from 1; None between iterations.
    """

    fault: Fault
    at: float
    iteration: int | None


class FaultRunner:
    """Watches the time and this rank's rail, and lets it fail, slow down or recover.

    A share of bytes is counted at the NIC, in chunks that have left it. Nothing leaves a rail that is dead
    and to recover; then what counts is the share of its node's part in the collective that is done.

    Args:
        comm: The communicator whose rail is meant.
        faults: All faults of the plan; those of other NICs are ignored.
    """

    def __init__(self, comm: Communicator, faults: tuple[Fault, ...]) -> None:
        self._comm = comm
        self._waiting = [f for f in faults if f.nic == comm.nic and not isinstance(f.trigger, Declared)]
        self.events: list[Event] = []
        self._iteration: int | None = None
        self._first_began_at: float | None = None
        self._expected_bytes = 0
        self._base_bytes = self._base_chunks = 0
        self._slow_from_the_start(faults)
        if self._waiting:
            comm.rail.on_sent = self.look
            comm.add_hook(self.look)

    def _slow_from_the_start(self, faults: tuple[Fault, ...]) -> None:
        for fault in faults:
            if fault.nic == self._comm.nic and fault.factor and isinstance(fault.trigger, Declared):
                self._comm.rail.factor = float(fault.factor)

    def begin(self, iteration: int, expected_bytes: int, now: float) -> None:
        """Note that a timed iteration begins.

        Args:
            iteration: Its number, from 1.
            expected_bytes: Bytes this rail sends in a whole healthy iteration.
            now: The time.
        """
        self._iteration = iteration
        self._expected_bytes = expected_bytes
        self._base_bytes = self._comm.counters.sent_bytes
        self._base_chunks = self._comm.counters.sent_chunks
        if self._first_began_at is None:
            self._first_began_at = now

    def end(self) -> None:
        """Note that the iteration has ended at this rank."""
        self._iteration = None

    @property
    def missed(self) -> list[Fault]:
        """Faults that have not happened, or not while a timed iteration ran."""
        return self._waiting + [event.fault for event in self.events if event.iteration is None]

    def look(self, now: float) -> None:
        """Let happen what is due."""
        for fault in [fault for fault in self._waiting if self._is_due(fault, now)]:
            self._waiting.remove(fault)
            self.events.append(Event(fault, now, self._iteration))
            self._let_happen(fault, now)

    def _is_due(self, fault: Fault, now: float) -> bool:
        trigger = fault.trigger
        if isinstance(trigger, AtTime):
            return self._first_began_at is not None and now >= self._first_began_at + float(trigger.seconds)
        if isinstance(trigger, Declared) or self._iteration != trigger.iteration:
            return False
        counters = self._comm.counters
        if isinstance(trigger, AtChunk):
            return counters.sent_chunks - self._base_chunks >= trigger.chunk
        assert isinstance(trigger, AtBytes)
        if self._comm.rail.is_dead:
            return self._comm.progress >= trigger.fraction
        return counters.sent_bytes - self._base_bytes >= trigger.fraction * self._expected_bytes

    def _let_happen(self, fault: Fault, now: float) -> None:
        rail = self._comm.rail
        if fault.kind is FaultKind.SLOW:
            rail.factor = float(fault.factor or 1)
        elif fault.kind is FaultKind.FAIL:
            rail.die(late=fault.late)
            if not fault.silent:
                self._comm.rail_event(up=False, now=now)
        else:
            rail.revive(now)
            self._comm.rail_event(up=True, now=now)
