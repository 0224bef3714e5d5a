"""The words of `r2cc run`. What they mean is for `options` to say."""

from __future__ import annotations

import argparse

from r2cc_mpi.cli import foreign_options
from r2cc_mpi.cli.argument_parser import Parser
from r2cc_mpi.cli.arrays import DATA_TYPES
from r2cc_mpi.reduction import Reduction

DEFAULT_SIZE = "32M"
DEFAULT_LAYOUT = (2, 2)


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to those of `r2cc`."""
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
    _add_sizes(run)
    _add_measurement(run)
    _add_data(run)
    foreign_options.add(run)


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
    add("--ranks-per-node", metavar="M", help="ranks of a node, if more than its rails: the others own none")
    add(
        "--backend",
        default="auto",
        metavar="NAME",
        help="virtual (rails in software), netdev (--interfaces) or auto: netdev if those are given",
    )
    add("--interfaces", metavar="A,B,...", help="the network interface of each rail, the same on every node")
    add(
        "--rail-rate",
        metavar="RATE",
        help="rate of each direction of each rail, for example 50MB/s or 1Gbit/s: virtual rails are paced "
        "at it, interfaces have it (default: what their drivers say)",
    )
    add(
        "--strategy",
        default="auto",
        metavar="NAME",
        help="auto (the planner chooses), ring (stops at a dead rail), hot-repair, balance, "
        "r2cc-allreduce, optcc, nested-optcc",
    )
    add(
        "--pieces",
        metavar="K",
        help="pieces of r2cc-allreduce's second stage, segments of optcc (default: best)",
    )
    add("--partial", metavar="Y", help="share of its partial ring (default: that of the lost bandwidth)")
    add(
        "--form",
        metavar="NAME",
        help="of it: chain or helper; of optcc: simple, ordering-2, overlay, mixture",
    )
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
        "after the first timed iteration began; I and C count from 1, and I is 1 if not given.\n"
        "For --recover P% is of the node's part in the iteration, since a dead rail sends nothing",
    )
    add = group.add_argument
    add("--fail", action="append", default=[], metavar="NODE:RAIL[@WHEN]", help="a rail dies; repeatable")
    add("--silent", action="store_true", help="nothing announces the --fail: a black hole")
    add("--late", action="store_true", help="what was in flight arrives when the rail comes back")
    add("--slow", action="append", default=[], metavar="NODE:RAIL=F[@WHEN]", help="a rail runs at fraction F")
    add("--recover", action="append", default=[], metavar="NODE:RAIL@WHEN", help="a rail works again")
    add(
        "--iteration-table",
        action="store_true",
        help="show every iteration, out of place, as with a failure that is asked for: for links that are "
        "cut from outside",
    )


def _add_sizes(run: Parser) -> None:
    group = run.add_argument_group("what to reduce (as in nccl-tests)")
    add = group.add_argument
    add("-b", "--minbytes", metavar="SIZE", help=f"smallest size (default: {DEFAULT_SIZE})")
    add("-e", "--maxbytes", metavar="SIZE", help="largest size (default: the smallest)")
    add("-i", "--stepbytes", metavar="SIZE", help="from one size to the next, add this (default: 1M)")
    add("-f", "--stepfactor", metavar="K", help="from one size to the next, multiply by this instead")
    operations = ", ".join(one.label for one in Reduction)
    add("-o", "--op", default="sum", metavar="OP", help=f"{operations} (default: sum)")
    add("-d", "--datatype", metavar="TYPE", help=f"{', '.join(DATA_TYPES)} (default: float)")
    add("-r", "--root", default="0", metavar="RANK", help="accepted as in nccl-tests; allreduce has no root")


def _add_measurement(run: Parser) -> None:
    group = run.add_argument_group("measurement (as in nccl-tests)")
    add = group.add_argument
    add("-n", "--iters", default="20", metavar="N", help="timed iterations (default: 20)")
    add("-w", "--warmup_iters", default="1", metavar="N", help="iterations before those (default: 1)")
    add("-m", "--agg_iters", default="1", metavar="N", help="calls of an iteration (default: 1)")
    add("--persistent", action="store_true", help="plan once for each size and replay that, whatever fails")
    add("-N", "--run_cycles", default="1", metavar="N", help="run all sizes so many times (default: 1)")
    add(
        "-c",
        "--check",
        default="1",
        metavar="0|1",
        help="check every element of every iteration (default: 1)",
    )
    add(
        "-a",
        "--average",
        default="1",
        metavar="0-3",
        help="time reported: 0 of rank 0, 1 mean of the ranks (default), 2 shortest, 3 longest",
    )
    add("-I", "--per_iter_timing", default="0", metavar="0|1", help="add columns about single iterations")
    add("-K", "--per_iter_skip", default="0", metavar="N", help="leave the first N iterations out of those")
    add("-S", "--report_timestamps", default="0", metavar="0|1", help="add to each row when it was done")
    add("-T", "--timeout", metavar="S", help="give up when one call takes longer than S seconds")


def _add_data(run: Parser) -> None:
    group = run.add_argument_group("data and reports")
    add = group.add_argument
    add("--input", metavar="DIR", help="reduce your own arrays: rank<k>.npy in DIR, one for each rank")
    add("--output", metavar="DIR", help="write the results of --input the same way")
    add("--corrupt", metavar="I", help="spoil one element of iteration I, to see the check find it")
    add(
        "-J",
        "--json",
        "--output_file",
        dest="json",
        metavar="FILE",
        help="also write the report as JSON, with the keys of nccl-tests; - is standard output",
    )
    add("--csv", metavar="FILE", help="also write a row for each size, in and out of place; - as above")
