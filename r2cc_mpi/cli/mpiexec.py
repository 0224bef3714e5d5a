"""Finding this machine's mpiexec, telling whose it is, and writing its command line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from r2cc_mpi.errors import MachineError, UsageError

MPI_CHOICE = "R2CC_MPI"
"""Environment variable: `system` takes the MPI found on PATH, `wheel` (the default) one installed beside
Python first."""


class Flavour(Enum):
    """The families of mpiexec whose command lines differ."""

    HYDRA = "MPICH"
    OPEN_MPI = "Open MPI"
    OTHER = "unknown"


@dataclass(frozen=True)
class Mpiexec:
    """A program that starts MPI jobs.

    Attributes:
        path: Where it is.
        flavour: Whose it is.
    """

    path: Path
    flavour: Flavour

    def command(self, ranks: int, program: Sequence[str], *, as_root: bool) -> list[str]:
        """Write the command line of a job on this machine.

        Args:
            ranks: How many ranks to start. There may be more of them than cores.
            program: The program and its arguments.
            as_root: Whether the user is root, to which Open MPI objects unless told.
        """
        flags = []
        if self.flavour is Flavour.OPEN_MPI:
            flags = ["--oversubscribe", *(["--allow-run-as-root"] if as_root else [])]
        return [str(self.path), "-n", str(ranks), *flags, *program]


def find_mpiexec(environment: Mapping[str, str], python: Path) -> Path:
    """Find the mpiexec to use: the one beside Python, then `mpiexec` or `mpirun` on PATH.

    Args:
        environment: `PATH` and `R2CC_MPI` of it are read; `R2CC_MPI=system` leaves out the one beside Python.
        python: The Python interpreter, as `sys.executable` names it (links unresolved: a virtual environment
            is one).

    Raises:
        MachineError: If there is none.
        UsageError: If `R2CC_MPI` is neither `system` nor `wheel`.
    """
    choice = environment.get(MPI_CHOICE, "wheel")
    if choice not in {"system", "wheel"}:
        raise UsageError(f"{MPI_CHOICE}={choice}: write {MPI_CHOICE}=system, or leave it unset")
    beside = str(python.parent)
    path = environment.get("PATH", os.defpath)
    if choice == "wheel":
        path = os.pathsep.join((beside, path))
    elif (python.parent.parent / "pyvenv.cfg").exists():
        # An active virtual environment puts the MPI of its own wheel on PATH.
        path = os.pathsep.join(one for one in path.split(os.pathsep) if one != beside)
    for name in ("mpiexec", "mpirun"):
        if found := shutil.which(name, path=path):
            return Path(found)
    remedy = "install one (Debian: apt install mpich)"
    if choice == "wheel":
        remedy = f"run pip install 'r2cc-mpi[mpich]', or {remedy}"
    raise MachineError(f"no MPI found: neither mpiexec nor mpirun is on PATH; {remedy}")


def identify(path: Path) -> Mpiexec:
    """Ask an mpiexec whose it is.

    Args:
        path: The program.

    Raises:
        MachineError: If it does not run at all.
    """
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"{path} does not run ({error}): install an MPI that does") from error
    return Mpiexec(path, flavour_of(answer.stdout + answer.stderr))


def flavour_of(version_text: str) -> Flavour:
    """Tell the flavour from what `mpiexec --version` printed."""
    if any(name in version_text for name in ("Open MPI", "OpenRTE", "PRRTE", "prterun")):
        return Flavour.OPEN_MPI
    return Flavour.HYDRA if "HYDRA" in version_text else Flavour.OTHER
