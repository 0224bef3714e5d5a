"""The communicator: what a user of the library holds. mpi4py's conventions, on rails that may die."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any

from algorithms.nic import Nic
from r2cc_mpi.caller import Caller
from r2cc_mpi.collectives import Collectives
from r2cc_mpi.creation import check_alike, check_numbers, check_wishes, contributors_of
from r2cc_mpi.endpoint import Endpoint
from r2cc_mpi.errors import R2ccError, UsageError
from r2cc_mpi.gathering import all_gather
from r2cc_mpi.groups import Groups, layout_of
from r2cc_mpi.netdev.rails import agree, check_interfaces
from r2cc_mpi.planning import Wishes, slow_from_the_start
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.splitting import Choice, check_choices, choice_of, declared_in, parts_of, renumbered
from r2cc_mpi.strategy import Strategy

if TYPE_CHECKING:
    from mpi4py import MPI


class Communicator(Collectives):
    """Collectives over several rails, each with a rank of its own on every node.

    All ranks of ``comm`` create it together, with the same arguments, before anything has failed. Use it as a
    context manager or call :meth:`close`: until then a thread of each rank serves the others. A rank's calls
    come from one thread.

    Args:
        comm: An MPI communicator, by default COMM_WORLD; it is used only here and in :meth:`close`.
        nodes: Number of nodes; by default from ``rails``, or one for each host.
        rails: Rails per node; by default as many as ranks per node. Each is owned by one rank.
        ranks_per_node: Ranks per node, if they are more than its rails: the others only bring data and take
            results.
        interfaces: Names of the network interfaces that are the rails, the same on every node, to which
            :func:`r2cc_mpi.pin` has tied this process; by default rails are virtual.
        rail_rate: Bytes per second of each rail in each direction. Virtual rails are paced at it; None: not
            at all. Of interfaces it is what they have; None: what their drivers say.
        strategy: 'auto' (the planner's choice for every call), 'ring', 'hot-repair', 'balance',
            'r2cc-allreduce', 'optcc' or 'nested-optcc'; see :mod:`r2cc_mpi.planning`.
        pieces: K of R2CC-AllReduce's second stage or OptCC's segments; None: the planner's best.
        partial: Y, R2CC-AllReduce's share of the partial ring; None: that of the lost bandwidth.
        form: Of R2CC-AllReduce, 'chain' or 'helper'; of OptCC one of
            :data:`algorithms.catalogue.OPTCC_FORMS`; None: the usual one, or the best.
        slow: NICs that run at a fraction of the others' rate from the start, for the plan.
        isolation_timeout: Seconds without an answer by any route after which a collective is given up.
        failed: NICs that are down from the start.
        contribute: Whether this rank brings data and takes results; the one argument in which ranks may
            differ. A rank that does not (it is there for its rail) calls ``Allreduce(None, None)``.

    Raises:
        UsageError: The ranks do not divide into nodes, or an argument is impossible.
        SignatureMismatchError: The ranks' arguments differ.
        MachineError: MPI lacks THREAD_MULTIPLE, ``/dev/shm`` is too small, or an interface cannot be a rail.
    """

    def __init__(  # noqa: PLR0913  (each is a choice by itself, and named)
        self,
        comm: MPI.Intracomm | None = None,
        *,
        nodes: int | None = None,
        rails: int | None = None,
        ranks_per_node: int | None = None,
        interfaces: Sequence[str] | None = None,
        rail_rate: float | None = None,
        strategy: str = "auto",
        pieces: int | None = None,
        partial: Fraction | None = None,
        form: str | None = None,
        slow: Mapping[Nic, Fraction] | None = None,
        isolation_timeout: float = 10.0,
        failed: Collection[Nic] = (),
        contribute: bool = True,
    ) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        world = MPI.COMM_WORLD if comm is None else comm
        self._inherited: dict[str, Any] = {
            "rail_rate": rail_rate,
            "strategy": strategy,
            "pieces": pieces,
            "partial": partial,
            "form": form,
            "slow": dict(slow or {}),
            "isolation_timeout": isolation_timeout,
        }
        shape = {"nodes": nodes, "rails": rails, "ranks_per_node": ranks_per_node}
        self._interfaces = tuple(interfaces or ())
        alike = {**shape, "interfaces": ",".join(self._interfaces), "failed": failed, **self._inherited}
        check_alike(world, alike)
        self.strategy = Strategy.parse(strategy)
        layout = layout_of(world, nodes, rails, ranks_per_node)
        check_numbers(layout, rail_rate, isolation_timeout, failed)
        if self._interfaces:
            check_interfaces(self._interfaces, layout)
            found = agree(world, layout, self._interfaces, failed)
            rail_rate = found if rail_rate is None else rail_rate
        wishes = Wishes(
            self.strategy,
            pieces,
            partial,
            form,
            None if rail_rate is None else Fraction(rail_rate),
            slow_from_the_start(slow or {}),
        )
        check_wishes(wishes, layout)
        settings = Settings.for_rate(rail_rate, isolation_timeout)
        contributors = contributors_of(world.allgather(bool(contribute)), layout)
        nic = layout.nic_of(world.rank)
        mine = self._interfaces[nic.rail] if self._interfaces and nic in layout else None
        endpoint = Endpoint(Groups(world, layout), layout, settings, rail_rate, mine, failed, contributors)
        super().__init__(endpoint, Caller(endpoint, wishes), MPI, contributes=bool(contribute))

    # Parts.

    def Dup(self) -> Communicator:
        """Make another communicator of the same ranks; see :meth:`Split`."""
        part = self.Split()
        assert part is not None
        return part

    def Split(self, color: int = 0, key: int = 0) -> Communicator | None:
        """Make a communicator of the ranks that give the same color; collective.

        It has engines, rails and failures of its own, and has to be closed by itself. It inherits this one's
        arguments, and NICs that were declared to have failed.

        Args:
            color: Each color's ranks must be a grid: whole nodes, or the same rails of some nodes. With
                ``MPI.UNDEFINED`` the rank gets None.
            key: Orders the ranks; they must still go node by node.

        Raises:
            UsageError: The ranks of some color are no grid, or a NIC has failed meanwhile; every rank raises.
        """
        self._check_open()
        choice = choice_of(color, key, self._mpi.UNDEFINED, self.health)
        choices = [Choice(*one) for one in all_gather(self, choice)]
        check_choices(choices)
        parts = parts_of(self.layout, choices)
        if choice.color is None:
            self._endpoint.world.Split(self._mpi.UNDEFINED, 0)
            return None
        part = parts[choice.color]
        comm = self._endpoint.world.Split(list(parts).index(choice.color), part.ranks.index(self.rank))
        assert isinstance(comm, self._mpi.Intracomm)
        names = renumbered(part, self.layout)
        slow = self._inherited["slow"]
        try:
            return Communicator(
                comm,
                nodes=len(part.ranks) // part.ranks_per_node,
                rails=part.rails,
                ranks_per_node=part.ranks_per_node,
                interfaces=[self._interfaces[nic.rail] for nic in names if names[nic].node == 0]
                if self._interfaces
                else None,
                failed=[names[nic] for nic in declared_in(self.health) if nic in names],
                contribute=self._contributes,
                **{**self._inherited, "slow": {names[nic]: slow[nic] for nic in slow if nic in names}},
            )
        finally:
            comm.Free()

    # The end.

    @property
    def is_open(self) -> bool:
        """Whether collectives may be called."""
        return self._endpoint.is_open

    def close(self) -> None:
        """Complete what is outstanding, serve until every rank is done, then free everything.

        Collective; calling it again has no effect. After an error that this rank was told of it only frees.

        Raises:
            SignatureMismatchError: Another rank called a collective that this one did not.
            IncompleteCollectiveError: Some rank cannot be reached any more.
        """
        if self._endpoint.has_raised:
            self.abandon()
        if not self.is_open:
            return
        self._caller.finish()
        try:
            self._endpoint.close(self._caller.calls)
        finally:
            self._callbacks.stop()

    Free = close

    def abandon(self) -> None:
        """Leave after an error without waiting for nodes that cannot be reached; see :class:`Endpoint`."""
        if self.is_open:
            self._caller.drop()
            self._endpoint.abandon()
            self._callbacks.stop()

    def __enter__(self) -> Communicator:  # noqa: PYI034  (typing.Self needs Python 3.11)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, or abandon after an error of ours.

        After any other exception the communicator stays open, since this rank may go on (if the caller
        catches it) or end the job (if nobody does, see :mod:`r2cc_mpi.last_resort`).
        """
        if error is None:
            self.close()
        elif isinstance(error, R2ccError) and (
            self._endpoint.has_raised or not isinstance(error, UsageError)
        ):
            self.abandon()
