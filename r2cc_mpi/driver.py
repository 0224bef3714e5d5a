"""The driver: carries messages between one rank's engine and the world, from the caller's thread or its own.

Inside a collective the caller drives; between collectives a thread looks in every few milliseconds, because
relays, acknowledgements and answers may be needed of this rank at any time. One lock keeps them apart. Ranks
often outnumber cores, and MPI's own waiting spins; so nothing here waits inside MPI, and an idle loop sleeps
a little longer each time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from r2cc_mpi.mailbox import Outbox
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.shared_node import SharedNode
from r2cc_mpi.virtual_rail import VirtualRail

SERVICE_INTERVAL_S = 0.002
SHORTEST_SLEEP_S = 20e-6
LONGEST_SLEEP_S = 1e-3

clock = time.monotonic
"""One clock for all ranks of a host, so that times measured by different ranks can be compared."""


class RankWire:
    """One rank's ways out; implements :class:`r2cc_mpi.protocol.network.Wire`.

    The rail and the mailboxes use the engine's buffers and are attached once the engine exists.
    """

    def __init__(self) -> None:
        self.rail: VirtualRail | None = None
        self.outboxes: dict[int, Outbox] = {}

    def send_rail(self, node: int, message: Message) -> None:
        """Send over this rank's own rail."""
        assert self.rail is not None
        self.rail.send(node, message, clock())

    def hand_over(self, rail: int, message: Message) -> bool:
        """Put into the mailbox of the rank that owns ``rail``."""
        return self.outboxes[rail].put(message)


class Driver:
    """Polls for one rank.

    Args:
        engine: The rank's engine.
        rail: Its rail.
        memory: Its node's shared memory.
        wire: Where the engine sends; its outboxes are attached here.
        on_fatal: Called in the service thread with whatever it died of; it must end the job.
    """

    def __init__(
        self,
        engine: Engine,
        rail: VirtualRail,
        memory: SharedNode,
        wire: RankWire,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self.engine, self.rail, self._on_fatal = engine, rail, on_fatal
        neighbours = [r for r in range(engine.rails) if r != engine.me.rail]
        self._inboxes = [memory.inbox(r, engine.pool) for r in neighbours]
        self._outboxes = {r: memory.outbox(r) for r in neighbours}
        wire.rail = rail
        wire.outboxes.update(self._outboxes)
        self.hooks: list[Callable[[float], None]] = []
        """Called with the time on every poll, before messages are looked at; fault plans live here."""
        self._lock = threading.Lock()
        self._caller_waits = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="r2cc-service", daemon=True)

    def start(self) -> None:
        """Start to serve between collectives."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._stop.set()
        self._thread.join()

    def poll(self, now: float) -> bool:
        """Take in what has arrived and send what is due; the caller holds the lock.

        Returns:
            Whether anything arrived.
        """
        for hook in self.hooks:
            hook(now)
        active = False
        # The rail first: an answer about its receive counter must come after what it has already received.
        for arrival in self.rail.poll(now):
            self.engine.arrived_by_rail(arrival.node, arrival.message, now)
            active = True
        for inbox in self._inboxes:
            for message in inbox.take_all():
                self.engine.arrived_locally(message, now)
                active = True
        self.engine.tick(now)
        self.engine.pump()
        for outbox in self._outboxes.values():
            outbox.flush()
        return active

    @contextmanager
    def held(self) -> Iterator[None]:
        """Drive from the caller's thread: the service thread keeps away meanwhile."""
        self._caller_waits = True
        with self._lock:
            self._caller_waits = False
            yield

    def run_until(self, step: Callable[[float], bool]) -> None:
        """Poll until ``step`` says that it is finished; the caller holds the lock.

        Args:
            step: Called with the time after every poll; returns whether it is finished.
        """
        idle = 0
        while True:
            now = clock()
            active = self.poll(now)
            before = self.engine.liveness.progress_count
            if step(now):
                return
            active |= self.engine.liveness.progress_count != before
            idle = 0 if active else idle + 1
            self._rest(idle)

    def _rest(self, idle: int) -> None:
        if idle == 0:
            os.sched_yield()  # ranks often outnumber cores, and another one may be next in a chain
            return
        sleep_s = min(SHORTEST_SLEEP_S * 2.0 ** min(idle, 8), LONGEST_SLEEP_S)
        due = self.rail.next_due()
        if due is not None:
            sleep_s = min(sleep_s, max(due - clock(), SHORTEST_SLEEP_S))
        time.sleep(sleep_s)

    def _serve(self) -> None:
        while not self._stop.wait(SERVICE_INTERVAL_S):
            if self._lock.acquire(blocking=False):
                try:
                    while self.poll(clock()) and not self._caller_waits and not self._stop.is_set():
                        pass
                except BaseException as error:
                    self._on_fatal(error)
                    raise
                finally:
                    self._lock.release()
