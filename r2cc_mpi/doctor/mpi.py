"""Looking at MPI: which library mpi4py loads, which launcher there is, and whether two ranks meet."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from r2cc_mpi import pinning
from r2cc_mpi.cli.launch import job_environment
from r2cc_mpi.cli.mpiexec import Flavour, Mpiexec, find_mpiexec, identify
from r2cc_mpi.doctor.asking import LIMIT_S, Reply, ask
from r2cc_mpi.errors import MachineError

PROGRAM = ("-m", "r2cc_mpi.doctor.mpi_probe", str(int(LIMIT_S)))
RANKS = 2
"""Ranks of the job that is tried."""


@dataclass(frozen=True)
class Library:
    """What the MPI library says of itself.

    Attributes:
        version: First line of its version.
        standard: The MPI standard it follows, for example `4.1`.
        thread_level: What it offers when asked for all, for example `THREAD_MULTIPLE`.
        cuda: Whether it takes arrays in GPU memory; None if it does not say.
        file: Where it is; empty if that is not known.
    """

    version: str
    standard: str
    thread_level: str
    cuda: bool | None
    file: str

    @property
    def flavour(self) -> Flavour:
        """Whose launcher it needs; Intel's, MVAPICH's and Cray's are MPICH's."""
        if "Open MPI" in self.version:
            return Flavour.OPEN_MPI
        names = ("MPICH", "Intel", "MVAPICH", "CRAY")
        return Flavour.HYDRA if any(name in self.version for name in names) else Flavour.OTHER

    def may_belong_to(self, launcher: Mpiexec) -> bool:
        """Say whether nothing speaks against it: one that is not known may fit."""
        flavours = {launcher.flavour, self.flavour}
        return len(flavours) == 1 or Flavour.OTHER in flavours


@dataclass(frozen=True)
class Job:
    """How a job of RANKS ranks went.

    Attributes:
        world_sizes: How many ranks each rank counted.
        seconds: How long it took.
        error: Why it did not end well; empty if it did.
    """

    world_sizes: tuple[int, ...]
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Mpi:
    """What was seen of MPI.

    Attributes:
        library: The library that mpi4py loads; None if MPI does not start.
        library_error: Why it does not.
        mpich_wheel: Whether PyPI's MPICH is installed for this Python.
        launcher: The launcher that `r2cc run` takes; None if there is none.
        launcher_error: Why there is none, and what to do.
        job: The job that was tried; None if there was no use in trying.
        netmod: The network that the user has set for MPICH; empty if none.
    """

    library: Library | None = None
    library_error: str = ""
    mpich_wheel: bool = False
    launcher: Mpiexec | None = None
    launcher_error: str = ""
    job: Job | None = None
    netmod: str = ""

    @property
    def is_wheel(self) -> bool:
        """Whether the library is PyPI's MPICH."""
        return self.mpich_wheel and self.library is not None and self.library.flavour is Flavour.HYDRA


def look(environment: Mapping[str, str]) -> Mpi:
    """Start MPI on one process, then on RANKS ranks.

    Args:
        environment: The process's environment.

    Raises:
        UsageError: `R2CC_MPI` is neither `system` nor `wheel`.
    """
    ours = job_environment(environment, Path.cwd())
    alone = ask([sys.executable, *PROGRAM], ours)
    library = library_of(alone)
    launcher, launcher_error = None, ""
    try:
        launcher = identify(find_mpiexec(environment, Path(sys.executable)))
    except MachineError as error:
        launcher_error = str(error)
    job = None
    if library is not None and launcher is not None and library.may_belong_to(launcher):
        job = try_job(launcher, ours)
    netmod = environment.get("MPIR_CVAR_CH4_NETMOD", "")
    return Mpi(library, _why(alone), pinning.has_mpich_wheel(), launcher, launcher_error, job, netmod)


def try_job(launcher: Mpiexec, environment: Mapping[str, str]) -> Job:
    """Start a job in which all ranks wait for each other and say how many they are."""
    began_at = time.monotonic()
    command = launcher.command(RANKS, [sys.executable, *PROGRAM], as_root=os.geteuid() == 0)
    reply = ask(command, environment)
    sizes = tuple(answer["size"] for answer in reply.answers)
    return Job(sizes, time.monotonic() - began_at, _why(reply))


def library_of(reply: Reply) -> Library | None:
    """Read what the probe said; None if MPI did not start."""
    if reply.status != 0 or not reply.answers:
        return None
    answer = reply.answers[0]
    return Library(**{name: answer[name] for name in Library.__dataclass_fields__})


def _why(reply: Reply) -> str:
    if reply.status == 0:
        return ""
    return reply.complaint or f"it ended with status {reply.status}"
