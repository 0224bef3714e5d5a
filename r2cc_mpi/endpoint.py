"""What a rank owns while its communicator is open: engine, rail, shared memory, driver; and the way out.

There are two ways out. *Closing*: every rank is done, everything is freed. *Abandoning*, after an error that
ends the job: the others are told why, and only what can be freed without unreachable nodes is freed.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Collection, Sequence

from algorithms.nic import Nic
from r2cc_mpi import last_resort
from r2cc_mpi.driver import Driver, RankWire, clock
from r2cc_mpi.errors import (
    FailStopError,
    IncompleteCollectiveError,
    IsolatedError,
    MachineError,
    R2ccError,
    SignatureMismatchError,
    TimeLimitError,
    UsageError,
)
from r2cc_mpi.groups import Groups
from r2cc_mpi.layout import Layout
from r2cc_mpi.mpi_rail import MpiRail
from r2cc_mpi.netdev.rails import RailLink
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.news import ErrorKind, News
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.shared_node import SharedNode
from r2cc_mpi.virtual_rail import VirtualRail

LAST_CALL_S = 0.2
"""After an error, how long a rank that is ready to grow the memory still waits for all others to be so."""
SERIALS = 1 << 28
"""Communicators that follow each other are told apart by a random number below this."""

_ERRORS: dict[ErrorKind, type[R2ccError]] = {
    ErrorKind.ISOLATED: IsolatedError,
    ErrorKind.FAIL_STOP: FailStopError,
    ErrorKind.MISMATCH: SignatureMismatchError,
    ErrorKind.MACHINE: MachineError,
    ErrorKind.TIME_LIMIT: TimeLimitError,
}


class Endpoint:
    """What one rank owns.

    Args:
        groups: Its MPI communicators.
        layout: Nodes and rails.
        settings: Sizes and times of the protocol.
        rail_rate: Rate of each rail in each direction, bytes per second, or None.
        interface: The network interface that is this rank's rail; None: a virtual rail, paced at the rate.
        failed: NICs that are down from the start.
        contributors: Ranks that bring data, at least one of each node.

    Attributes:
        nic: This rank's address: its NIC, if it owns one; see :class:`Layout`.
        rank: Its number.
        name: Its name in messages.
        contributors: The same ranks.
        leader: The rank whose START begins every collective: the first that brings data.
        engine: The protocol.
        memory: What the node's ranks share.
        rail: This rank's software NIC; in front of an interface it only counts.
        rail_rate: The same rate.
        link: This rank's interface, if it is watched.
        world: MPI's communicator of all ranks; for the start only.
        driver: Carries messages between them.
        is_open: Whether it has neither closed nor been abandoned.
        has_raised: Whether the user has been told of an error that ends the job.

    Raises:
        MachineError: ``/dev/shm`` is too small; every rank raises.
    """

    def __init__(
        self,
        groups: Groups,
        layout: Layout,
        settings: Settings,
        rail_rate: float | None,
        interface: str | None,
        failed: Collection[Nic],
        contributors: Sequence[int],
    ) -> None:
        self.contributors, self.leader = tuple(contributors), min(contributors)
        self.layout, self.settings = layout, settings
        self.nic = layout.nic_of(groups.world.rank)
        self.rank = groups.world.rank
        self.name = layout.describe(self.rank)
        self._groups = groups
        self.world = groups.world
        rails, places = layout.rails, layout.ranks_per_node
        body_bytes = News.capacity(layout.nodes, places)
        mailboxes_bytes = SharedNode.fixed_bytes(rails, settings, body_bytes, places)
        groups.check_room(mailboxes_bytes, "what the ranks of a node share")
        self.memory = SharedNode(groups.node, groups.host, rails, settings, body_bytes)
        wire = RankWire()
        self.engine = Engine(self.nic, layout.nodes, places, wire, settings)
        serial = groups.world.bcast(random.randrange(SERIALS))
        self._mpi_rail = MpiRail(groups.rail, self.engine.pool, body_bytes, settings.window, serial)
        pace = rail_rate if interface is None else None
        self.rail, self.rail_rate = (
            VirtualRail(self._mpi_rail, pace, common_clock=groups.is_one_host),
            rail_rate,
        )
        chunk_time_s = settings.chunk_bytes / rail_rate if rail_rate else 0.0
        self.driver = Driver(self.engine, self.rail, self.memory, wire, self.die, chunk_time_s)
        self.is_open = True
        self.has_raised = False
        self._could_leave_at = float("inf")
        # The protocol numbers ranks like NICs. One that owns none has an address whose NIC is always down.
        addresses = map(layout.nic_of, range(layout.ranks))
        down = [*failed, *(address for address in addresses if address not in layout)]
        self.engine.declare_down(down, clock())
        if self.nic in down:
            self.rail.die(late=False)
            self.engine.rail_event(up=False, now=clock())
        self._is_real = interface is not None
        self.link: RailLink | None = None
        if interface is not None and self.nic not in down:
            self.link = RailLink(interface, self._link_changed)
            self.driver.hooks.append(self.link.look)
        groups.world.Barrier()
        last_resort.watch(self)
        self.driver.start()

    def check_open(self) -> None:
        """Make sure that calls may be made.

        Raises:
            UsageError: They may not any more.
        """
        if not self.is_open:
            raise UsageError("this communicator is closed; create a new one")

    def _link_changed(self, up: bool, cause: str, now: float) -> None:  # noqa: FBT001  (a callback)
        self.engine.rail_event(up=up, now=now, cause=cause)

    def raise_error(self) -> None:
        """Raise the error that ends the job, if there is one."""
        error = self.engine.news.error
        if error is not None:
            raise _ERRORS[error.kind](error.text)

    def close(self, calls: int) -> None:
        """Serve until every rank is done, then free everything.

        Collective; without effect the second time.

        Args:
            calls: Number of collectives this rank has called.

        Raises:
            R2ccError: What ended the job instead.
        """
        if self.has_raised:
            self.abandon()
        if not self.is_open:
            return
        try:
            with self.driver.held():
                self.engine.closing.ask()
                self.engine.liveness.progress(clock())
                self.driver.run_until(lambda now: self._may_leave(now, calls))
        except R2ccError:
            self.abandon()
            raise
        self.is_open = False
        with self.driver.held():
            self.driver.run_until(lambda _: self.memory.may_be_freed())
        self._stop()
        self.memory.free()
        self._groups.free()

    def _may_leave(self, now: float, calls: int) -> bool:
        latest = self.engine.news.latest_start
        if latest > calls:
            self.engine.give_up(ErrorKind.MISMATCH, closed_early(self.name, latest))
        self.raise_error()
        if not self.engine.closing.may_leave(now):
            return False
        self._could_leave_at = min(self._could_leave_at, now)
        return self._has_nothing_to_send() or now > self._could_leave_at + 2 * self.settings.stall_s

    def _has_nothing_to_send(self) -> bool:
        """Say whether all has left that can: what a dead link holds back may stay there for ever."""
        is_up = self.engine.health.is_up
        live = [node for node in range(self.layout.nodes) if is_up(Nic(node, self.nic.rail))]
        return self.rail.is_dead or not is_up(self.nic) or self.rail.is_idle_towards(live)

    def abandon(self) -> None:
        """Leave after a collective that could not complete, without waiting for nodes that cannot be reached.

        Serves a little longer, so that the others hear why, and waits for the node's other ranks, to free the
        shared memory with them. If one does not come within the isolation timeout (it may be stopped), the
        job is aborted when this process ends, with the status of an incomplete collective.
        """
        if not self.is_open:
            return
        self.is_open = False
        settings = self.settings
        heard_by = clock() + max(min(settings.stall_s, settings.isolation_timeout_s), 2 * LAST_CALL_S)
        deadline = heard_by + settings.isolation_timeout_s
        with self.driver.held():
            self.driver.run_until(lambda now: now > heard_by)
            # Some rank may have announced itself for growing the memory before it heard of the error. The
            # others come there too, so that MPI is left clean; those that closed in peace do not.
            until = clock() + settings.stall_s
            self.driver.run_until(lambda now: now > until or self.memory.everyone_came())
            self.driver.run_until(lambda now: self.memory.may_be_freed() or now > deadline)
        self._stop()
        if self.memory.may_be_freed():
            self.memory.free()
        else:
            last_resort.abort_at_exit(IncompleteCollectiveError.exit_code)

    def _stop(self) -> None:
        self.driver.stop()
        versions = [self.engine.health.version(Nic(node, self.nic.rail)) for node in range(self.layout.nodes)]
        self._mpi_rail.leave(after_a_cut=self._is_real and any(versions))
        if self.link is not None:
            self.link.close()

    def die(self, error: BaseException) -> None:
        """End the whole job with the reason: without its service thread, others would wait for this rank."""
        traceback.print_exception(error)
        last_resort.end_job()


def closed_early(name: str, collective: int) -> str:
    """Say that a rank closed although another one called a further collective."""
    return (
        f"{name} closed the communicator while another rank called collective {collective}; "
        "every rank must make the same calls in the same order"
    )
