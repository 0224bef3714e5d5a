"""Starting an MPI job from a plain command: mpiexec runs this same command line on every rank.

mpiexec gets a session of its own, so a Ctrl-C in the terminal reaches only us; we then end the job as a
whole, also the ranks (which launchers put into sessions of their own), and also if we are killed without a
chance to say so.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from r2cc_mpi import pinning
from r2cc_mpi.cli import mpiexec
from r2cc_mpi.layout import Layout

GRACE_S = 5.0
"""How long a job that was asked to end may take before it is killed."""

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


class EndedBySignalError(Exception):
    """Leaves the wait for mpiexec; carries the signal number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def launch_job(arguments: Sequence[str], layout: Layout, environment: Mapping[str, str]) -> int:
    """Run `r2cc ARGUMENTS` on every rank of a layout, all on this machine.

    Args:
        arguments: The command line behind `r2cc`.
        layout: Nodes and rails; it is repeated to the ranks, which would otherwise have to guess it.
        environment: Our own environment; the job gets it with what its MPI needs, and the user's settings
            win.

    Returns:
        mpiexec's exit status; 128 + the signal's number if a signal ended it or us.

    Raises:
        MachineError: If there is no mpiexec, or it does not run.
    """
    program = [sys.executable, "-m", "r2cc_mpi", *arguments]
    program += ["--nodes", str(layout.nodes), "--rails", str(layout.rails)]
    starter = mpiexec.identify(mpiexec.find_mpiexec(environment, Path(sys.executable)))
    command = starter.command(layout.ranks, program, as_root=os.geteuid() == 0)
    return run_to_end(command, job_environment(environment, Path.cwd()))


def job_environment(environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Give the environment of the ranks.

    Args:
        environment: Our own.
        directory: The current directory. `python -m` looks there first, so a user's own folder `analysis`
            would hide ours; unless we run from the very folder that holds our packages, this is switched off
            (Python 3.11 or newer).
    """
    ours = pinning.transport_environment(mpich_wheel=pinning.has_mpich_wheel())
    ours["PYTHONUNBUFFERED"] = "1"  # mpiexec reads the ranks through pipes, and lines should appear at once
    if directory.resolve() != Path(__file__).resolve().parents[2]:
        ours["PYTHONSAFEPATH"] = "1"
    return {**ours, **environment}


def run_to_end(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command in its own session and wait for it; a signal to us ends it.

    Args:
        command: Program and arguments.
        environment: Its whole environment.

    Returns:
        Its exit status; 128 + the signal's number if a signal ended it or us.
    """
    try:
        with ending_signals_raise():
            process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=_die_with_parent(),  # noqa: PLW1509 - there are no threads yet
            )
            try:
                status = process.wait()
            except EndedBySignalError:
                _end(process)
                raise
    except EndedBySignalError as ended:
        return 128 + ended.number
    return status if status >= 0 else 128 - status


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and its group to end, and kill all that descends from it if that takes too long."""
    family = [process.pid, *descendants(process.pid)]
    try:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=GRACE_S)
    except (subprocess.TimeoutExpired, EndedBySignalError):  # too slow, or the user asks again
        for pid in {*family, *descendants(process.pid)}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def descendants(ancestor: int) -> list[int]:
    """List the processes that descend from one, as /proc shows them now."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found = [ancestor]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


@contextmanager
def ending_signals_raise() -> Iterator[None]:
    """Turn the signals that end a program, unless ignored as under nohup, into an exception in this block."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise EndedBySignalError(number)

    heard = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _die_with_parent() -> Callable[[], None] | None:
    """Give what asks Linux, in the new process, to end mpiexec when we are killed; None on other systems."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)  # loaded here: the new process should do as little as it can

    def ask() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask
