"""The words of `scripts/testbed`."""

from __future__ import annotations

import argparse

from r2cc_mpi.cli.argument_parser import Parser
from scripts.network.job import Mpi
from scripts.network.links import How

DEFAULT_NAME = "bed"


def build_parser() -> Parser:
    """Describe the command line."""
    parser = Parser(prog="scripts/testbed", description="A test network whose links are real and really die.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_up(commands)
    _add_run(commands)
    cut = commands.add_parser("cut", help="cut a link")
    cut.add_argument("--how", choices=[how.value for how in How], default=How.LINK_DOWN.value, help=_HOW)
    heal = commands.add_parser("heal", help="undo what cut a link")
    for command, what in ((cut, "cut"), (heal, "heal")):
        command.add_argument("nic", metavar="NODE:RAIL", help=f"the NIC whose link is to {what}")
        command.add_argument("--after", metavar="S", help="wait so many seconds before")
        _add_name(command)
    status = commands.add_parser("status", help="what is up, the state of every link, and its bytes")
    status.add_argument("--name", help="the testbed (default: all)")
    down = commands.add_parser("down", help="remove a testbed, also one that was left half-built")
    _add_name(down)
    down.add_argument("--all", action="store_true", help="all testbeds of this machine")
    return parser


_HOW = (
    "switch off the node's end, or the switch's (carrier lost), or let it swallow all (default %(default)s)"
)


def _add_up(commands: argparse._SubParsersAction[Parser]) -> None:
    up = commands.add_parser("up", help="build a testbed")
    _add_name(up)
    up.add_argument("--nodes", metavar="N", required=True, help="how many nodes")
    up.add_argument("--rails", metavar="G", required=True, help="how many rails")
    up.add_argument("--rate", default="100Mbit/s", help="of each direction of a rail (default %(default)s)")
    up.add_argument(
        "--slow", metavar="NODE:RAIL=F", action="append", default=[], help="a NIC at this fraction of it"
    )
    up.add_argument(
        "--without", metavar="NODE:RAIL", action="append", default=[], help="a NIC that is not there"
    )


def _add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = commands.add_parser("run", help="run `r2cc run` across the nodes; its exit status is the job's")
    _add_name(run)
    run.add_argument(
        "--mpi", choices=[mpi.value for mpi in Mpi], default=Mpi.MPICH.value, help="(default %(default)s)"
    )
    run.add_argument("--ranks", metavar="M", help="ranks of a node (default: one for each rail)")
    run.add_argument("--time-limit", metavar="S", help="end the job after so many seconds, with status 4")
    run.add_argument(
        "arguments",
        nargs="*",
        metavar="-- ARGUMENT",
        help="what follows `r2cc run`, for example -- allreduce -b 4M",
    )


def _add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument("--name", default=DEFAULT_NAME, help="the testbed (default %(default)s)")
