"""What is known of a job before it measures anything: the heads of all reports are written from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from algorithms.nic import Nic
from r2cc_mpi.cli.method import Method
from r2cc_mpi.cli.sizes import Sweep

REPORTED_VARIABLES = ("R2CC_", "MPIR_", "MPICH_", "FI_", "OMPI_", "PMI", "UCX_", "SLURM_")
"""Beginnings of the names of environment variables that say how MPI and this package were set up."""
SECRETS = ("JWT", "TOKEN", "KEY", "SECRET", "PASS", "AUTH")
"""No variable whose name has one of these in it is reported."""


@dataclass(frozen=True)
class Device:
    """A rank and the NIC that it owns.

    Attributes:
        rank: World rank.
        nic: Its NIC.
        pid: Process id.
        host: Name of the machine.
        info: What the NIC is, in a few words.
    """

    rank: int
    nic: Nic
    pid: int
    host: str
    info: str

    @property
    def address(self) -> str:
        """Node and rail in the form of a PCI address, which a virtual NIC does not have."""
        return f"{self.nic.node:04x}:{self.nic.rail:02x}:00"


@dataclass(frozen=True)
class Description:
    """A job.

    Attributes:
        collective: Its name.
        version: Version of this package.
        sweep: The data sizes.
        method: How it measures.
        devices: All ranks, in order.
        started_at: When it began, in seconds since the epoch.
        arguments: The command line of rank 0.
        environment: What `reported_environment` lets through.
    """

    collective: str
    version: str
    sweep: Sweep
    method: Method
    devices: tuple[Device, ...]
    started_at: float
    arguments: tuple[str, ...]
    environment: tuple[str, ...]


def reported_environment(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Pick the variables that a report may show, as NAME=value.

    nccl-tests writes the whole environment. That may hold anybody's passwords, so only what concerns MPI and
    this package is written here, and nothing that looks like a secret.
    """
    return tuple(
        f"{name}={value}"
        for name, value in sorted(environment.items())
        if name.startswith(REPORTED_VARIABLES) and not any(word in name for word in SECRETS)
    )
