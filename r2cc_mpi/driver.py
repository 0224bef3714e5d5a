"""The driver: carries messages between one rank's engine and the world, from the caller's thread or its own.

While the caller waits in a collective, it drives; at all other times a thread does. It looks in every few
milliseconds, because relays, acknowledgements and answers may be needed of this rank at any time, and it
drives the collectives that nobody waits for yet. One lock keeps them apart. Ranks often outnumber cores, and
MPI's own waiting spins; so nothing here waits inside MPI, and an idle loop sleeps a little longer each time.
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
LONGEST_SERVICE_INTERVAL_S = 4 * SERVICE_INTERVAL_S
"""While the caller drives, the service thread need not look in so often."""
SHORTEST_SLEEP_S = 20e-6
LONGEST_SLEEP_S = 1e-3
LONGEST_SLEEP_FAST_S = 0.2e-3
"""Where rails are fast, or as fast as they can be, a chunk takes about as long."""
YIELDS = 50
"""Idle rounds before a rank sleeps where rails are as fast as they can be: others on this host are at work
then, not the network, and to wake up takes longer than what they do.
"""

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
        chunk_time_s: How long a full chunk takes on a rail, as far as known; else 0.
    """

    def __init__(
        self,
        engine: Engine,
        rail: VirtualRail,
        memory: SharedNode,
        wire: RankWire,
        on_fatal: Callable[[BaseException], None],
        chunk_time_s: float,
    ) -> None:
        self.engine, self.rail, self._on_fatal = engine, rail, on_fatal
        self._longest_sleep_s = min(max(chunk_time_s / 4, LONGEST_SLEEP_FAST_S), LONGEST_SLEEP_S)
        self._yields = 0 if chunk_time_s else YIELDS
        neighbours = [r for r in range(engine.rails) if r != engine.me.rail]
        self._inboxes = [memory.inbox(r, engine.pool) for r in neighbours]
        self._outboxes = {r: memory.outbox(r) for r in neighbours}
        wire.rail = rail
        wire.outboxes.update(self._outboxes)
        self.hooks: list[Callable[[float], None]] = []
        """Called with the time on every poll, before messages are looked at; fault plans live here."""
        self.work: Callable[[float], bool] = lambda _now: True
        """Takes a step of the collectives under way and says whether none is left; the service thread does
        it while the caller is busy with something else."""
        self._lock = threading.Lock()
        self._caller_waits = False
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, name="r2cc-service", daemon=True)

    def start(self) -> None:
        """Start to serve between collectives."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._stop.set()
        self.wake()
        self._thread.join()

    def wake(self) -> None:
        """Let the service thread look for work now."""
        self._wake.set()

    def poll(self, now: float) -> bool:
        """Take in what has arrived; the caller holds the lock and calls :meth:`send_out` soon.

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
        return active

    def send_out(self) -> None:
        """Send what is due; the caller holds the lock.

        Not part of :meth:`poll`, because a step of the collective in between often applies what has just
        landed: one acknowledgement then says both.
        """
        self.engine.pump()
        for outbox in self._outboxes.values():
            outbox.flush()

    def look(self, step: Callable[[float], bool]) -> bool:
        """Poll, take a step, send; return what the step returns. The caller holds the lock."""
        now = clock()
        self.poll(now)
        result = step(now)
        self.send_out()
        return result

    @contextmanager
    def held(self) -> Iterator[None]:
        """Drive from the caller's thread: the service thread keeps away meanwhile."""
        self._caller_waits = True
        with self._lock:
            self._caller_waits = False
            yield

    def try_hold(self) -> bool:
        """Take the lock if nobody drives just now; say whether it was taken. Then :meth:`let_go` is due."""
        return self._lock.acquire(blocking=False)

    def let_go(self) -> None:
        """Give the lock back."""
        self._lock.release()

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
            done = step(now)
            self.send_out()
            if done:
                return
            active |= self.engine.liveness.progress_count != before
            idle = 0 if active else idle + 1
            self._rest(idle)

    def _rest(self, idle: int) -> None:
        if idle <= self._yields:
            os.sched_yield()  # ranks often outnumber cores, and another one may be next in a chain
            return
        sleep_s = min(SHORTEST_SLEEP_S * 2.0 ** min(idle - self._yields, 8), self._longest_sleep_s)
        due = self.rail.next_due()
        if due is not None:
            sleep_s = min(sleep_s, max(due - clock(), SHORTEST_SLEEP_S))
        time.sleep(sleep_s)

    def _serve(self) -> None:
        interval_s = SERVICE_INTERVAL_S
        while not self._stop.is_set():
            self._wake.wait(interval_s)
            self._wake.clear()
            if not self.try_hold():
                # The caller drives, and need not tell this thread when it stops: ranks often outnumber cores.
                interval_s = min(2 * interval_s, LONGEST_SERVICE_INTERVAL_S)
                continue
            interval_s = SERVICE_INTERVAL_S
            try:
                while self._serve_others() and not self._must_let_go():
                    pass
                if not self._must_let_go() and not self.work(clock()):
                    self.run_until(lambda now: self._must_let_go() or self.work(now))
            except BaseException as error:
                self._on_fatal(error)
                raise
            finally:
                self.let_go()

    def _serve_others(self) -> bool:
        arrived = self.poll(clock())
        self.send_out()
        return arrived

    def _must_let_go(self) -> bool:
        return self._caller_waits or self._stop.is_set()
