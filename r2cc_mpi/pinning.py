"""What must be settled before MPI starts: which rank this process is, and which network its MPI may use.

An MPI process can be tied to one NIC only through its environment, and only before `MPI_Init`. All of that
lives here, as pure functions from environments to environments.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from r2cc_mpi.errors import MachineError, UsageError


@dataclass(frozen=True)
class Place:
    """Where a process stands in the job that a launcher started, as far as its environment tells.

    Attributes:
        rank: World rank.
        size: Number of ranks in the world, or None if this launcher does not tell before MPI starts.
        local_rank: Rank among those of the same host, or None if not told.
        local_size: Number of ranks on the same host, or None if not told.
    """

    rank: int
    size: int | None = None
    local_rank: int | None = None
    local_size: int | None = None


_OPEN_MPI = (
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
)
_PMI = (
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
)  # MPICH's Hydra, Intel MPI, Slurm's PMI-2
_SLURM = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE")
_PMIX = ("PMIX_RANK",)  # last: whoever speaks PMIx mostly sets some of the above too, and they say more

AT_ONCE = ("OMPI_MCA_btl_tcp_eager_limit", str(320 * 1024))
"""Open MPI asks the receiver before it sends what is longer than this (64 KiB if nothing is said), and a
chunk would wait for the answer, although its receive is posted already. Chunks of a rail whose rate is known
have at most 256 KiB, and a header."""


def find_place(environment: Mapping[str, str]) -> Place | None:
    """Tell whether a launcher started this process, and as which rank, without starting MPI.

    Args:
        environment: The process's environment.

    Returns:
        The place in the job; None outside any launcher. A shell inside a Slurm allocation is no job: a Slurm
        step counts only if it has more than one task.
    """
    for variables in (_OPEN_MPI, _PMI, _SLURM, _PMIX):
        rank, *rest = (_number(environment.get(name, "")) for name in variables)
        place = None if rank is None else Place(rank, *rest)
        if place is not None and not (variables is _SLURM and place.size in {None, 1}):
            return place
    return None


def has_mpich_wheel() -> bool:
    """Tell whether PyPI's `mpich` is installed for this Python; if so, mpi4py loads its library."""
    try:
        metadata.distribution("mpich")
    except metadata.PackageNotFoundError:
        return False
    return True


def transport_environment(*, mpich_wheel: bool) -> dict[str, str]:
    """Give the settings that a whole job needs to speak TCP.

    Args:
        mpich_wheel: Whether the MPI is the MPICH of the PyPI wheel. That one prefers UCX and has to be told
            to take libfabric over TCP; another MPICH may have been built without libfabric and would stop at
            these settings.

    Returns:
        Environment variables; what the user has set himself should win over them.
    """
    return {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"} if mpich_wheel else {}


def rail_environment(rail: int, interfaces: Sequence[str]) -> dict[str, str]:
    """Tie one rank's MPI to the network interface of its rail, whichever MPI it is.

    Args:
        rail: The rail that the rank owns. That comes from its world rank: launchers number the ranks of a
            host in orders of their own.
        interfaces: Names of the node's interfaces, one for each rail, in the order of the rails.

    Returns:
        Environment variables for MPICH over libfabric's TCP, for Open MPI's TCP and for UCX.

    Raises:
        UsageError: If there is no interface for this rail.
    """
    if not 0 <= rail < len(interfaces):
        raise UsageError(
            f"rail {rail} has no network interface: there are {len(interfaces)} ({', '.join(interfaces)}), "
            "so name more of them, or use fewer rails"
        )
    name = interfaces[rail]
    return {"FI_TCP_IFACE": name, "OMPI_MCA_btl_tcp_if_include": name, "UCX_NET_DEVICES": name}


def pin(
    interfaces: Sequence[str],
    ranks_per_node: int | None = None,
    environment: MutableMapping[str, str] = os.environ,
) -> None:
    """Tie this rank's MPI to the network interface of its rail; call it before MPI starts.

    Without a launcher it does nothing. An interface that this host lacks is left out: MPI would end the job
    there, or wait for ever, whereas a communicator names the host and the interface, on every rank.

    Args:
        interfaces: Names of the interfaces, by rail, the same on every node.
        ranks_per_node: Ranks of each node, if they are more than its rails. Those that own no rail are not
            tied to any.
        environment: Where the settings go; rank and size are read there too.

    Raises:
        UsageError: MPI has started already.
    """
    if "mpi4py.MPI" in sys.modules:
        raise UsageError("pin() has to come before MPI starts, so before the import of mpi4py.MPI")
    place = find_place(environment)
    if place is None:
        return
    rail = place.rank % (ranks_per_node or len(interfaces))
    present = {name for _, name in socket.if_nameindex()}
    if rail < len(interfaces) and interfaces[rail] in present:
        environment.update(rail_environment(rail, interfaces))
        environment.setdefault(*AT_ONCE)


def require_matching_library(environment: Mapping[str, str], *, mpich_wheel: bool) -> None:
    """Refuse a job that one MPI's launcher started for another MPI's library, which would not get far.

    Args:
        environment: The rank's environment.
        mpich_wheel: See `has_mpich_wheel`.

    Raises:
        MachineError: If Open MPI's launcher started us, but MPI would be the MPICH wheel.
    """
    chosen = "MPI4PY_LIBMPI" in environment or "MPI4PY_MPIABI" in environment
    if mpich_wheel and not chosen and _OPEN_MPI[0] in environment:
        raise MachineError(
            "this job was started by Open MPI, but mpi4py uses the MPICH that is installed beside Python: "
            f"start it with {Path(sys.executable).parent}/mpiexec, or uninstall mpich"
        )


def _number(text: str) -> int | None:
    """Read a number; of Slurm's `2(x3)`, two tasks on each of three hosts, the two."""
    text = text.partition("(x")[0]
    return int(text) if text.isascii() and text.isdigit() else None
