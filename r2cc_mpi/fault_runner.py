"""Makes the failures of a fault plan happen to this rank's own rail, at the instants the user named."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from r2cc_mpi.communicator import Communicator
from r2cc_mpi.faults import AtBytes, AtChunk, AtTime, Declared, Fault, FaultKind


@dataclass(frozen=True)
class Event:
    """A fault that happened.

    Attributes:
        fault: Which one.
        at: When, on :data:`r2cc_mpi.driver.clock`.
        iteration: The timed iteration that was running, from 1; None between iterations.
        objection: Why it changed nothing; empty if it did.
    """

    fault: Fault
    at: float
    iteration: int | None
    objection: str = ""


class FaultRunner:
    """Watches the time and this rank's rail, and lets it fail, slow down or recover.

    A share of bytes is counted at the NIC, in chunks that have left it. Nothing leaves a rail that is dead;
    then, and for a rail to recover, what counts is the share of its node's part in the collective that is
    done. A fault that changes nothing, since its rail is dead already or is none to recover, is missed.

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
        self._sent: dict[int | None, tuple[int, int]] = {}
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
        self._sent[self._iteration] = self._sent_bytes, self._sent_chunks
        self._iteration = None

    @property
    def _sent_bytes(self) -> int:
        return self._comm.counters.sent_bytes - self._base_bytes

    @property
    def _sent_chunks(self) -> int:
        return self._comm.counters.sent_chunks - self._base_chunks

    @property
    def missed(self) -> list[str]:
        """Faults that have not happened, or not while a timed iteration ran, or to no effect; and why."""
        missed = [(fault.option, self._why_not_due(fault)) for fault in self._waiting]
        for event in self.events:
            if event.objection:
                missed.append((event.fault.option, event.objection))
            elif event.iteration is None:
                missed.append((event.fault.option, "it came between two of them"))
        return [f"{option} did not hit a running collective: {reason}" for option, reason in missed]

    def _why_not_due(self, fault: Fault) -> str:
        trigger = fault.trigger
        if not isinstance(trigger, AtBytes | AtChunk):
            return "the last one was over before"
        sent_bytes, sent_chunks = self._sent.get(trigger.iteration, (0, 0))
        if isinstance(trigger, AtChunk):
            return f"{fault.nic} sent {sent_chunks} chunks in iteration {trigger.iteration}"
        if fault.kind is FaultKind.RECOVER:
            return f"iteration {trigger.iteration} was over before"
        return (
            f"{fault.nic} sent {sent_bytes} bytes in iteration {trigger.iteration}, "
            f"{float(trigger.fraction):.0%} of a healthy one's are {self._needed_bytes(trigger)}"
        )

    def _needed_bytes(self, trigger: AtBytes) -> int:
        return ceil(trigger.fraction * self._expected_bytes)

    def look(self, now: float) -> None:
        """Let happen what is due."""
        for fault in [fault for fault in self._waiting if self._is_due(fault, now)]:
            self._waiting.remove(fault)
            objection = self._objection(fault)
            self.events.append(Event(fault, now, self._iteration, objection))
            if not objection:
                self._let_happen(fault, now)

    def _objection(self, fault: Fault) -> str:
        is_dead = self._comm.rail.is_dead
        if fault.kind is FaultKind.FAIL and is_dead:
            return f"{fault.nic} was dead already"
        if fault.kind is FaultKind.RECOVER and not is_dead:
            return f"{fault.nic} was not dead then"
        return ""

    def _is_due(self, fault: Fault, now: float) -> bool:
        trigger = fault.trigger
        if isinstance(trigger, AtTime):
            return self._first_began_at is not None and now >= self._first_began_at + float(trigger.seconds)
        if isinstance(trigger, Declared) or self._iteration != trigger.iteration:
            return False
        if isinstance(trigger, AtChunk):
            return self._sent_chunks >= trigger.chunk
        assert isinstance(trigger, AtBytes)
        if self._comm.rail.is_dead or fault.kind is FaultKind.RECOVER:
            return self._comm.progress >= trigger.fraction
        return self._sent_bytes >= self._needed_bytes(trigger)

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
