"""What can be seen of a communicator besides its results, and done to it in an experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from algorithms.nic import Nic
from r2cc_mpi.call_report import CallReport
from r2cc_mpi.caller import Caller
from r2cc_mpi.endpoint import Endpoint
from r2cc_mpi.health_callbacks import HealthCallback, HealthCallbacks
from r2cc_mpi.netdev.netlink import KernelBytes
from r2cc_mpi.nic_health import NicHealth, health_of
from r2cc_mpi.protocol.engine import Detection
from r2cc_mpi.protocol.hot_repair import Failover
from r2cc_mpi.protocol.news import ErrorKind
from r2cc_mpi.protocol.roll_call import RollCall
from r2cc_mpi.virtual_rail import Counters, VirtualRail


class Inspection:
    """The part of :class:`r2cc_mpi.Communicator` that only looks, or plays the network's part.

    Args:
        endpoint: What the rank owns.
        caller: Its calls.

    Attributes:
        layout: Nodes, rails and ranks.
        settings: Sizes and times of the protocol.
        nic: The NIC that this rank owns; if it owns none, an address of that form that is not in the layout.
    """

    def __init__(self, endpoint: Endpoint, caller: Caller) -> None:
        self._endpoint, self._caller = endpoint, caller
        self._engine, self._driver = endpoint.engine, endpoint.driver
        self._callbacks = HealthCallbacks(self._engine.detections, endpoint.die)
        self._driver.hooks.append(self._callbacks.look)
        self.layout, self.settings, self.nic = endpoint.layout, endpoint.settings, endpoint.nic

    @property
    def rank(self) -> int:
        """Number of this rank in the communicator."""
        return self._endpoint.rank

    @property
    def size(self) -> int:
        """Number of ranks in the communicator."""
        return self.layout.ranks

    def Get_rank(self) -> int:
        """Return :attr:`rank`; mpi4py's name."""
        return self.rank

    def Get_size(self) -> int:
        """Return :attr:`size`; mpi4py's name."""
        return self.size

    @property
    def last_report(self) -> CallReport | None:
        """What the collective did that completed last at this rank; None before the first."""
        return self._caller.last_report

    @property
    def health(self) -> dict[Nic, NicHealth]:
        """What is up and what failed, since when and how this rank knows."""
        last = {detection.nic: detection for detection in self.detections}
        return {nic: health_of(nic, last.get(nic)) for nic in self.layout}

    @property
    def detections(self) -> Sequence[Detection]:
        """Every change of health that this rank learned of, in order."""
        return tuple(change for change in self._engine.detections if change.nic in self.layout)

    @property
    def rail(self) -> VirtualRail:
        """This rank's own rail, which can be slowed down or let die in an experiment."""
        return self._endpoint.rail

    @property
    def counters(self) -> Counters:
        """What this rank's NIC has carried so far."""
        return self._endpoint.rail.counters

    @property
    def dropped_chunks(self) -> int:
        """Chunks that this rank was to pass on and had no room for; their senders sent them again."""
        return self._engine.network.dropped_chunks

    @property
    def progress(self) -> float:
        """Share of the node's part in the running collective that is done, by whichever of its ranks."""
        return self._caller.progress

    @property
    def failovers(self) -> Sequence[Failover]:
        """Every repair of one of this rank's channels, in order."""
        return tuple(self._engine.hot_repair.failovers)

    def add_health_callback(self, callback: HealthCallback) -> None:
        """Call ``callback`` once for every change of health that this rank learns of from now on.

        It is called with the NIC and what is now known of it, in order, on a thread of its own, also while a
        collective runs, and never under a lock of ours: it may take its time and read everything here, but
        collectives belong to the thread that makes the others. An exception in it ends the job with a
        traceback. :meth:`close` waits until the last call has returned.
        """
        self._callbacks.add(callback)

    def add_hook(self, hook: Callable[[float], None]) -> None:
        """Call ``hook`` with the time on every poll, under the driver's lock; fault plans use it."""
        with self._driver.held():
            self._driver.hooks.append(hook)

    def rail_event(self, *, up: bool, now: float) -> None:
        """Tell the engine what this rank's rail reports of itself; call it from a hook."""
        self._engine.rail_event(up=up, now=now)

    @property
    def rail_rate(self) -> float | None:
        """Bytes per second of each rail in each direction; None if not known."""
        return self._endpoint.rail_rate

    def kernel_bytes(self) -> KernelBytes | None:
        """Say what the kernel has counted at this rank's interface; None if it uses none."""
        return None if self._endpoint.link is None else self._endpoint.link.carried()

    def call_roll(self) -> RollCall:
        """Ask every rank whether it has done its part of this rank's last collective; call it from a hook.

        Returns:
            The answers that are there, growing while time goes by.
        """
        self._engine.call_roll(self._caller.calls)
        return self._engine.news.roll_call

    def give_up(self, reason: str) -> None:
        """End the job: every rank that waits raises TimeLimitError with this reason; call it from a hook."""
        self._engine.give_up(ErrorKind.TIME_LIMIT, reason)
