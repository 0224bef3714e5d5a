"""The words of the command line. What they mean is for `options` to say."""

from __future__ import annotations

import argparse
from importlib import metadata
from typing import NoReturn

from r2cc_mpi.errors import UsageError

DEFAULT_SIZE = "32M"
DEFAULT_LAYOUT = (2, 2)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError instead of printing its usage and exiting with status 2."""

    def error(self, message: str) -> NoReturn:
        """Report what argparse did not understand."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def build_parser() -> Parser:
    """Build the parser of `r2cc`; all values stay text, and `command` is the command or None."""
    parser = Parser(
        prog="r2cc",
        description="Collectives that survive the death of a NIC, on real MPI ranks.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"r2cc {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a collective, fail rails under it, and check every element",
        description="Run a collective on MPI ranks: inside mpiexec or srun; alone, it starts mpiexec.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n"
        "  r2cc run allreduce --nodes 3 --rails 3 --rail-rate 20MB/s -b 16M -n 10 --fail 1:1@iter=3,40%",
        allow_abbrev=False,
    )
    run.add_argument("collective", metavar="COLLECTIVE", help="allreduce")
    _add_layout(run)
    _add_faults(run)
    _add_measurement(run)
    _add_data(run)


def _add_layout(run: Parser) -> None:
    nodes, rails = DEFAULT_LAYOUT
    group = run.add_argument_group("nodes and rails")
    add = group.add_argument
    add("--nodes", metavar="N", help=f"nodes (alone: {nodes}; inside a launcher: ranks / rails)")
    add(
        "--rails",
        metavar="G",
        help=f"rails, and so ranks, of a node (alone: {rails}; else the ranks of a host)",
    )
    add("--backend", default="auto", metavar="NAME", help="auto or virtual: rails are paced in software")
    add("--rail-rate", metavar="RATE", help="pace each direction of each rail, for example 50MB/s or 1Gbit/s")
    add("--strategy", default="auto", metavar="NAME", help="auto, hot-repair, or ring (stops at a dead rail)")
    add(
        "--isolation-timeout",
        default="10",
        metavar="S",
        help="seconds without an answer by any route until the collective is given up (default: 10)",
    )


def _add_faults(run: Parser) -> None:
    group = run.add_argument_group(
        "failures",
        "WHEN is [iter=I,]P% of the rail's bytes in timed iteration I, [iter=I,]chunk=C, or Ts: T seconds\n"
        "after the first timed iteration began; I and C count from 1, and I is 1 if not given",
    )
    add = group.add_argument
    add("--fail", action="append", default=[], metavar="NODE:RAIL[@WHEN]", help="a rail dies; repeatable")
    add("--silent", action="store_true", help="nothing announces the --fail: a black hole")
    add("--late", action="store_true", help="what was in flight arrives when the rail comes back")
    add("--slow", action="append", default=[], metavar="NODE:RAIL=F[@WHEN]", help="a rail runs at fraction F")
    add("--recover", action="append", default=[], metavar="NODE:RAIL@WHEN", help="a rail works again")


def _add_measurement(run: Parser) -> None:
    group = run.add_argument_group("measurement (as in nccl-tests)")
    add = group.add_argument
    add("-b", "--minbytes", metavar="SIZE", help=f"smallest size (default: {DEFAULT_SIZE})")
    add("-e", "--maxbytes", metavar="SIZE", help="largest size (default: the smallest)")
    add("-i", "--stepbytes", metavar="SIZE", help="from one size to the next, add this (default: 1M)")
    add("-f", "--stepfactor", metavar="K", help="from one size to the next, multiply by this instead")
    add("-n", "--iters", default="20", metavar="N", help="timed iterations (default: 20)")
    add("-w", "--warmup_iters", default="1", metavar="N", help="iterations before those (default: 1)")
    add(
        "-c",
        "--check",
        default="1",
        metavar="0|1",
        help="check every element of every iteration (default: 1)",
    )
    add("-o", "--op", default="sum", metavar="OP", help="sum")
    add("-d", "--datatype", metavar="TYPE", help="float (default), double, int32 or int64")
    add("-r", "--root", default="0", metavar="RANK", help="accepted as in nccl-tests; allreduce has no root")


def _add_data(run: Parser) -> None:
    group = run.add_argument_group("data and reports")
    add = group.add_argument
    add("--input", metavar="DIR", help="reduce your own arrays: rank<k>.npy in DIR, one for each rank")
    add("--output", metavar="DIR", help="write the results of --input the same way")
    add("--corrupt", metavar="I", help="spoil one element of iteration I, to see the check find it")
    add("--json", metavar="FILE", help="also write the report as JSON; - is standard output")


def _version() -> str:
    try:
        return metadata.version("r2cc-mpi")
    except metadata.PackageNotFoundError:  # run from its sources
        return "(not installed)"
