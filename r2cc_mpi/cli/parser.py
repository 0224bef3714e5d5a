"""The command line `r2cc` with all its commands."""

from __future__ import annotations

from importlib import metadata

from r2cc_mpi.cli import (
    analyze_parser,
    doctor_parser,
    plan_parser,
    run_parser,
    simulate_parser,
    verify_parser,
)
from r2cc_mpi.cli.argument_parser import Parser


def build_parser() -> Parser:
    """Build the parser of `r2cc`; all values stay text, and `command` is the command or None."""
    parser = Parser(
        prog="r2cc",
        description="Collectives that survive the death of a NIC, on real MPI ranks.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"r2cc {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run_parser.add(commands)
    plan_parser.add(commands)
    analyze_parser.add(commands)
    doctor_parser.add(commands)
    verify_parser.add(commands)
    simulate_parser.add(commands)
    return parser


def _version() -> str:
    try:
        return metadata.version("r2cc-mpi")
    except metadata.PackageNotFoundError:  # run from its sources
        return "(not installed)"
