"""The MPI communicators of one rank: world, node, rail and host, and what must be true of them.

They are made when all rails work, by calls that touch all of them, and freed after all ranks have agreed to
leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from r2cc_mpi.errors import MachineError, UsageError
from r2cc_mpi.layout import Layout
from r2cc_mpi.shared_memory import check_free

if TYPE_CHECKING:
    from mpi4py import MPI


def layout_of(
    comm: MPI.Intracomm, nodes: int | None, rails: int | None, ranks_per_node: int | None
) -> Layout:
    """Divide a communicator's ranks into nodes; with nothing said, each host is a node.

    Raises:
        UsageError: The ranks cannot be divided that way.
    """
    from mpi4py import MPI

    if nodes is None and rails is None and ranks_per_node is None:
        host = comm.Split_type(MPI.COMM_TYPE_SHARED)
        sizes = comm.allgather(host.size)
        host.Free()
        if len(set(sizes)) > 1:
            raise UsageError(
                f"hosts have different numbers of ranks ({sorted(set(sizes))}); name the rails per node"
            )
        rails = sizes[0]
    return Layout.from_ranks(comm.size, rails=rails, nodes=nodes, ranks_per_node=ranks_per_node)


class Groups:
    """One rank's communicators, duplicated from the user's.

    Args:
        comm: The user's communicator.
        layout: Nodes and rails.

    Attributes:
        world: All ranks.
        node: The ranks of this node, ordered by rail, those without one last.
        rail: The owners of this rank's rail, ordered by node; data between nodes flows here only. A rank
            that owns none is by itself here.
        host: All ranks on this host, which may hold several nodes.

    Raises:
        MachineError: A node's ranks are not all on one host; every rank raises.
    """

    def __init__(self, comm: MPI.Intracomm, layout: Layout) -> None:
        from mpi4py import MPI

        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise MachineError(
                "MPI was started without THREAD_MULTIPLE, which the service thread needs; "
                "do not lower mpi4py.rc.thread_level, or use an MPI that offers it"
            )
        # mpi4py duplicates the communicator in the first call of its lower-case reductions, holding the GIL,
        # so that the service thread could not run meanwhile. This gets it over with.
        comm.allreduce(0)
        nic = layout.nic_of(comm.rank)
        self.world = comm.Dup()
        node = self.world.Split(nic.node, nic.rail)
        rail = self.world.Split(nic.rail if nic in layout else layout.rails + comm.rank, nic.node)
        assert isinstance(node, MPI.Intracomm)
        self.node, self.rail = node, rail
        self.host = self.world.Split_type(MPI.COMM_TYPE_SHARED)
        local = self.host.allgather(nic.node)
        self.nodes_on_host = len(set(local))
        whole = all(local.count(one) == layout.ranks_per_node for one in set(local))
        self._raise_together(
            "" if whole else f"the ranks of node {nic.node} are not all on one host; start {layout}"
        )

    @property
    def is_one_host(self) -> bool:
        """Whether all ranks are on one host, and so share a clock."""
        return self.host.size == self.world.size

    def check_room(self, bytes_per_node: int, what: str) -> None:
        """Make sure that every host has room in shared memory for its nodes.

        Raises:
            MachineError: One has not; every rank raises.
        """
        error = ""
        try:
            check_free(self.nodes_on_host * bytes_per_node, what)
        except MachineError as short:
            error = str(short)
        self._raise_together(error)

    def _raise_together(self, error: str) -> None:
        errors = [text for text in self.world.allgather(error) if text]
        if errors:
            raise MachineError(errors[0])

    def free(self) -> None:
        """Free all of them; collective."""
        for one in (self.rail, self.node, self.host, self.world):
            one.Free()
