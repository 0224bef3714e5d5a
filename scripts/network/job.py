"""Jobs across the nodes of a test network: the launcher's command line, and a job from start to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import IO

from r2cc_mpi.cli.launch import descendants, job_environment
from r2cc_mpi.cli.mpiexec import MPI_CHOICE, Flavour, find_mpiexec, identify
from r2cc_mpi.errors import MachineError, TimeLimitError
from scripts.network.build import MANAGEMENT, address_of

HERE = Path(__file__).resolve().parent
Output = int | IO[str] | None
"""What `subprocess.Popen` takes for an output."""


class Mpi(Enum):
    """The MPIs that a job can use.

    Attributes:
        value: Its name on the command line.
    """

    MPICH = "mpich"
    OPEN_MPI = "openmpi"


_FLAVOURS = {Mpi.MPICH: Flavour.HYDRA, Mpi.OPEN_MPI: Flavour.OPEN_MPI}
_CHOICES = {
    Mpi.MPICH: {MPI_CHOICE: "wheel"},
    Mpi.OPEN_MPI: {MPI_CHOICE: "system", "MPI4PY_LIBMPI": "libmpi.so.40"},
}


class Job:
    """A command that was started, with all that it starts itself.

    It runs in a process namespace of its own (see `on_node`). When its first process dies, the kernel ends
    all others; and that dies with us, however we end. Start it from a thread that lives as long as the job.

    Args:
        command: Program and arguments, as `on_node` gives them.
        environment: Its whole environment.
        stdout: Where its output goes.
        stderr: Where its complaints go.

    Attributes:
        process: The process as the standard library knows it, for example to read its output.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        stdout: Output = None,
        stderr: Output = None,
    ) -> None:
        self._words = list(command)
        self.process: subprocess.Popen[str] = subprocess.Popen(
            self._words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal reaches us alone, and we end the job
        )

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end.

        Args:
            timeout_s: After so many seconds the job is ended; None: never.

        Returns:
            Its exit status; 128 + the number of the signal that ended it.

        Raises:
            TimeLimitError: If it took too long.
        """
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.end()
            raise TimeLimitError(f"the job did not end within {timeout_s:g} s, and was ended") from None
        return status if status >= 0 else 128 - status

    def end(self) -> None:
        """End the job at once, if it still runs; when this returns nothing of it is left."""
        if self.process.poll() is not None:
            return
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.kill(self.process.pid, signal.SIGSTOP)  # so that it starts nothing while we look
        first = descendants(self.process.pid)[:1]
        for pid in (self.process.pid, *first):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        # The first process of a namespace is not gone before all others are.
        while any(map(_is_alive, first)):
            time.sleep(0.01)

    def __enter__(self) -> Job:  # noqa: PYI034  (typing.Self needs Python 3.11)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def on_node(node: int, command: Sequence[str]) -> list[str]:
    """Write the command that runs another one on a node."""
    return [str(HERE / "on_node"), host_of(node), *command]


def mpi_command(mpi: Mpi, nodes: int, ranks_per_node: int, program: Sequence[str]) -> list[str]:
    """Write the command that, on node 0, runs a program on all nodes, with ranks numbered node by node.

    Raises:
        MachineError: If this MPI is not installed.
    """
    launcher = identify(find_mpiexec({**os.environ, **_CHOICES[mpi]}, Path(sys.executable)))
    if launcher.flavour is not _FLAVOURS[mpi]:
        remedy = {Mpi.MPICH: "run scripts/setup without R2CC_MPI", Mpi.OPEN_MPI: "apt install openmpi-bin"}
        raise MachineError(
            f"--mpi {mpi.value}: {launcher.path} is of {launcher.flavour.value}: {remedy[mpi]}"
        )
    hosts = ",".join(f"{host_of(node)}:{ranks_per_node}" for node in range(nodes))
    agent = str(HERE / "launcher_agent")
    if mpi is Mpi.MPICH:
        flags = ["-launcher", "rsh", "-launcher-exec", agent, "-iface", MANAGEMENT, "-bind-to", "none"]
        flags += ["-hosts", hosts]
    else:
        parameters = {
            "plm_rsh_agent": agent,
            "plm_rsh_no_tree_spawn": "1",
            "orte_leave_session_attached": "1",  # a node ends with the process that the agent started
            "orte_tmpdir_base": "/dev/shm",  # noqa: S108  (the node's own, which vanishes with the job)
            "oob_tcp_if_include": MANAGEMENT,
            "pml": "ob1",
            "btl": "self,vader,tcp",
        }
        flags = ["--allow-run-as-root", "--bind-to", "none", "--map-by", "slot", "--host", hosts]
        flags += [word for name, value in parameters.items() for word in ("--mca", name, value)]
    return [str(launcher.path), *flags, "-n", str(nodes * ranks_per_node), *program]


def environment(name: str, nodes: int, mpi: Mpi | None = None) -> dict[str, str]:
    """Give the environment of a job on a network.

    Args:
        name: Name of the network.
        nodes: How many nodes it has.
        mpi: Whose MPI the job uses; None if none.
    """
    hosts = [f"{address_of(node)} {host_of(node)}" for node in range(nodes)]
    chosen = {} if mpi is None else _CHOICES[mpi]
    ours = {"R2CC_TESTBED": name, "R2CC_TESTBED_HOSTS": "\n".join(["127.0.0.1 localhost", *hosts])}
    return {**job_environment(os.environ, Path.cwd()), **chosen, **ours}


def host_of(node: int) -> str:
    """Give the host name of a node."""
    return f"n{node}"


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
