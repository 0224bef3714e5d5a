"""The words of `scripts/reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from r2cc_mpi.cli.argument_parser import Parser
from scripts.network.job import Mpi
from scripts.network.links import How

EXPERIMENTS = {
    "experiment1": "a link is cut in iteration 3 of ten AllReduces; afterwards Balance",
    "experiment2": "the same; afterwards R2CC-AllReduce, then OptCC",
    "table4": "plans before and after a failure: time over healthy, beside the formula and the authors'",
    "detection": "how soon many cuts are known, and what the iteration takes that is hit",
    "heal": "a link that is cut comes back after 2, 8, 20 s or never",
    "side-by-side": "our ring over all rails beside Open MPI's Allreduce with all rails, healthy",
    "cuts": "a campaign of random runs of r2cc run with cuts; it goes on where its log ends",
}


def build_parser() -> Parser:
    """Describe the command line."""
    parser = Parser(prog="scripts/reproduce", description="Experiments on links that really die; as root.")
    commands = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    for name, text in EXPERIMENTS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == "cuts":
            _add_cuts(command)
        else:
            _add_network(command, name)
        if name != "side-by-side":
            _add_choices(command, name)
        command.add_argument(
            "--json", metavar="FILE", help="write the tables there, for programs (-: standard output)"
        )
    return parser


def _add_network(command: argparse.ArgumentParser, name: str) -> None:
    add = command.add_argument
    size = "16M" if name in {"detection", "heal"} else "32M"
    add("--nodes", default="3", metavar="N", help="nodes (default %(default)s)")
    add("--rails", default="3", metavar="G", help="rails of a node (default %(default)s)")
    add("--rate", default="100Mbit/s", metavar="RATE", help="of each link, each way (default %(default)s)")
    add("--size", default=size, metavar="SIZE", help="bytes of a rank's array (default %(default)s)")
    if name in {"experiment1", "experiment2"}:
        add("--iterations", default="10", metavar="I", help="AllReduces of a job (default %(default)s)")
        add(
            "--corrupt",
            default="0",
            metavar="I",
            help="spoil one element after iteration I: the check must find it",
        )
    elif name == "detection":
        add("--cuts", default="20", metavar="N", help="cuts of each kind (default %(default)s)")
        add("--seed", default="0", metavar="S", help="of the NICs and instants (default %(default)s)")
    elif name == "heal":
        add(
            "--outage",
            action="append",
            metavar="S",
            help="seconds, or never; may be repeated (default: 2, 8, 20, never)",
        )
    else:
        add("--iterations", default="5", metavar="I", help="of each row or turn (default %(default)s)")
    if name == "table4":
        add(
            "--pieces",
            nargs="+",
            default=["1", "2", "4", "8", "16"],
            metavar="K",
            help="K (default 1 2 4 8 16)",
        )
    if name == "side-by-side":
        add("--turns", default="3", metavar="T", help="jobs of each side (default %(default)s)")


def _add_choices(command: argparse.ArgumentParser, name: str) -> None:
    mpis, hows = [one.value for one in Mpi], [one.value for one in How]
    command.add_argument(
        "--mpi", action="append", choices=mpis, help="may be repeated (default: all that are installed)"
    )
    if name not in {"table4", "cuts"}:
        command.add_argument("--how", action="append", choices=hows, help="may be repeated (default: all)")


def _add_cuts(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--runs", default="100", metavar="N", help="runs (default %(default)s)")
    add("--seed", default="0", metavar="S", help="of the first; each has its own (default %(default)s)")
    add("--log", type=Path, metavar="FILE", help="append results; skip the runs that it says were fine")
