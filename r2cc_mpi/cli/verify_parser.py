"""The words of `r2cc verify`. What they mean is for `verify` to say."""

from __future__ import annotations

import argparse

from algorithms.catalogue import ALGORITHMS
from r2cc_mpi.cli.argument_parser import Parser

DEFAULT_NODES = DEFAULT_RAILS = "4"


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to those of `r2cc`."""
    verify = commands.add_parser(
        "verify",
        help="prove an algorithm right, step by step, without running it",
        description="Execute an algorithm symbolically: every contribution exactly once, everybody has the "
        "result, every byte on one live rail. Prints steps and loads; exit status 2 names the transfer at "
        f"fault. ALGORITHM is one of {', '.join(ALGORITHMS)}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  r2cc verify r2cc-allreduce --nodes 4 --rails 4 --fail 0:3\n"
        "  r2cc verify balance --nodes 4 --rails 4 --fail 0:0 --fail 1:1 --re-rank\n"
        "  r2cc verify --all",
        allow_abbrev=False,
    )
    verify.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="with --all: only this one")
    add = verify.add_argument
    add("--all", action="store_true", help="many layouts and failures, one line each")
    add("--nodes", metavar="N", help=f"nodes (default: {DEFAULT_NODES})")
    add("--rails", metavar="G", help=f"rails of a node (default: {DEFAULT_RAILS})")
    add("--fail", action="append", default=[], metavar="NODE:RAIL", help="this rail is dead; repeatable")
    add("--slow", action="append", default=[], metavar="NODE:RAIL=F", help="this rail runs at fraction F")
    add("--re-rank", action="store_true", help="order the ring so that its weakest hop is strongest")
    add("--pieces", metavar="K", help="pieces of stage 2 (r2cc-allreduce, default: 4), segments (optcc, 8)")
    add("--partial", metavar="Y", help="share of the partial ring, for example 1/4 (default: the lost share)")
    add(
        "--form",
        metavar="F",
        help="of r2cc-allreduce: chain or helper; of optcc: simple, ordering-2, overlay, mixture",
    )
    add("--sub-pieces", metavar="S", help="parts of a piece in the helper's broadcast (default: 1)")
    add("--json", metavar="FILE", help="also write what was found as JSON; - is standard output")
