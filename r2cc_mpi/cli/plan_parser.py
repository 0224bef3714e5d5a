"""The words of `r2cc plan`. What they mean is for `plan` to say."""

from __future__ import annotations

import argparse

from r2cc_mpi.cli.argument_parser import Parser

DEFAULT_RATE = "400Gbit/s"
DEFAULT_ALPHA = "10us"


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to those of `r2cc`."""
    plan = commands.add_parser(
        "plan",
        help="compare what every scheme would take after a failure, and choose one",
        description="Compare all schemes on a cluster by their cost models. Runs nothing, needs no MPI.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  r2cc plan allreduce --nodes 4 --rails 8 --fail 1:0 -b 64M",
        allow_abbrev=False,
    )
    plan.add_argument("collective", metavar="COLLECTIVE", help="allreduce")
    add = plan.add_argument
    add("--nodes", required=True, metavar="N", help="nodes")
    add("--rails", required=True, metavar="G", help="rails of a node")
    add("--fail", action="append", default=[], metavar="NODE:RAIL", help="this rail is dead; repeatable")
    add("--slow", action="append", default=[], metavar="NODE:RAIL=F", help="this rail runs at fraction F")
    add("-b", "--minbytes", default="32M", metavar="SIZE", help="bytes to reduce per node (default: 32M)")
    add(
        "--rail-rate",
        default=DEFAULT_RATE,
        metavar="RATE",
        help=f"rate of a healthy rail, each direction (default: {DEFAULT_RATE})",
    )
    add(
        "--alpha",
        default=DEFAULT_ALPHA,
        metavar="TIME",
        help=f"cost of one message, for example 5us or 0.1ms (default: {DEFAULT_ALPHA})",
    )
    add("--json", metavar="FILE", help="also write the plan as JSON; - is standard output")
