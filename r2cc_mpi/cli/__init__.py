"""The command line `r2cc`.

Reading order: `parser` (the words), `options` (what they mean), `launch` (the job is started), `run_job`
(what every rank of it does), `report` (what is printed). Nothing here imports MPI except `run_job`, and that
only inside a job.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib import import_module

from r2cc_mpi import pinning
from r2cc_mpi.cli.launch import launch_job
from r2cc_mpi.cli.options import read_options
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.errors import R2ccError, UsageError
from r2cc_mpi.shared_memory import check_room_for_mpi

ANALYTIC_COMMANDS = frozenset({"analyze", "doctor", "plan", "simulate", "verify"})
"""Commands that need no MPI. Each is carried out by `run(words)` of the module with its name, imported only
then: a rank of a job needs none of them."""

LAST_WORDS_S = 1.0
"""How long other ranks wait before they end after an error: some launchers end a job at the first rank that
failed, and rank 0 has to say why before that."""


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line.

    Args:
        argv: The words behind `r2cc`; None takes those of this process.

    Returns:
        The exit status: 0 pass, 1 usage or environment, 2 wrong result, 3 an asked-for failure hit nothing, 4
        the collective could not complete. Every rank of a job gives the same.

    Raises:
        SystemExit: After --help and --version, with status 0.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    place = pinning.find_place(os.environ)
    try:
        return _carry_out(arguments, place)
    except R2ccError as error:
        if place is None or place.rank == 0:
            print(f"r2cc: error: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        else:
            time.sleep(LAST_WORDS_S)
        return error.exit_code
    except BrokenPipeError:
        # `r2cc ... | head`: whoever read has left. Python writes out the rest when it ends: to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _carry_out(arguments: Sequence[str], place: pinning.Place | None) -> int:
    words = build_parser().parse_args(arguments)
    if words.command is None:
        raise UsageError("say what to do, for example: r2cc run allreduce (see r2cc --help)")
    if words.command in ANALYTIC_COMMANDS:
        if place is not None and place.rank > 0:  # of a job, one process is enough
            return 0
        status = int(import_module(f"r2cc_mpi.cli.{words.command}").run(words))
        sys.stdout.flush()
        return status
    options = read_options(words, place)
    local_ranks = place.local_size or place.size if place else None
    check_room_for_mpi(local_ranks or options.layout.ranks)
    if place is None:
        return launch_job(arguments, options.layout, os.environ)
    wheel = pinning.has_mpich_wheel()
    pinning.require_matching_library(os.environ, mpich_wheel=wheel)
    for name, value in pinning.transport_environment(mpich_wheel=wheel).items():
        os.environ.setdefault(name, value)
    if options.interfaces:
        pinning.pin(options.interfaces, options.layout.ranks_per_node)
    from r2cc_mpi.cli import run_job

    return run_job.run(options)
