"""The words of `r2cc doctor`. What they mean is for `doctor` to say."""

from __future__ import annotations

import argparse

from r2cc_mpi.cli.argument_parser import Parser
from r2cc_mpi.cli.run_parser import DEFAULT_LAYOUT, DEFAULT_SIZE


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to those of `r2cc`."""
    doctor = commands.add_parser(
        "doctor",
        help="say whether reference runs work on this machine, what is missing, and how to get it",
        description="Look for an MPI, its launcher, shared memory, NICs and packages; exit status 1 if no "
        "reference run works here. The layout and size are those of a job that should fit.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  r2cc doctor --nodes 3 --rails 3 -b 16M",
        allow_abbrev=False,
    )
    nodes, rails = DEFAULT_LAYOUT
    add = doctor.add_argument
    add("--nodes", default=str(nodes), metavar="N", help=f"nodes of the job (default: {nodes})")
    add("--rails", default=str(rails), metavar="G", help=f"rails of a node (default: {rails})")
    add("-b", "--minbytes", default=DEFAULT_SIZE, metavar="SIZE", help=f"its array (default: {DEFAULT_SIZE})")
    add("--json", metavar="FILE", help="also write the findings as JSON; - is standard output")
