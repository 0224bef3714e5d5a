"""The words of `r2cc simulate`. What they mean is for `simulate_options` to say."""

from __future__ import annotations

import argparse

from algorithms.catalogue import ALGORITHMS
from r2cc_mpi.cli.argument_parser import Parser
from r2cc_mpi.cli.plan_parser import DEFAULT_ALPHA, DEFAULT_RATE


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to those of `r2cc`."""
    simulate = commands.add_parser(
        "simulate",
        help="play an algorithm port by port: time, idle ports, what failures on the way cost",
        description="Play an algorithm on a simulated cluster: every stripe waits for its data and for its "
        "ports, occupies them for alpha + bytes/rate, and lands. Runs nothing, needs no MPI. "
        f"ALGORITHM is one of {', '.join(ALGORITHMS)}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="not simulated: the processors (adding up a node's own ranks, copying, checks), control\n"
        "messages and acknowledgements, how a failure is found out (see --unnoticed), and what arrives\n"
        "late under r2cc run --late, which ranks drop. A hop takes both ports at once; real ones queue.\n\n"
        "examples:\n"
        "  r2cc simulate r2cc-allreduce --nodes 4 --rails 4 --fail 0:3 --pieces 8 --plot ports.png\n"
        "  r2cc simulate balance --nodes 3 --rails 3 -n 4 --fail 1:1@50% --recover 1:1@iter=3,50%",
        allow_abbrev=False,
    )
    simulate.add_argument("algorithm", metavar="ALGORITHM", help="see above")
    _add_cluster(simulate)
    _add_algorithm(simulate)
    _add_rules(simulate)
    group = simulate.add_argument_group("reports")
    group.add_argument("--json", metavar="FILE", help="also write everything as JSON; - is standard output")
    group.add_argument(
        "--plot", metavar="FILE", help="also draw when each port was busy, FILE ending in .png or .svg"
    )


def _add_cluster(simulate: Parser) -> None:
    group = simulate.add_argument_group(
        "cluster",
        "WHEN: [iter=I,]P%% or [iter=I,]chunk=C of what the rail sends in collective I, or Ts, seconds after "
        "the first one began; for --recover P%% of the node's part in the collective; without it, from the "
        "start",
    )
    add = group.add_argument
    add("--nodes", required=True, metavar="N", help="nodes")
    add("--rails", required=True, metavar="G", help="rails of a node")
    add(
        "--rail-rate",
        default=DEFAULT_RATE,
        metavar="RATE",
        help=f"of a healthy rail (default: {DEFAULT_RATE})",
    )
    add("--node-rate", metavar="RATE", help="what a node's memory can carry (default: it is free)")
    add(
        "--alpha", default=DEFAULT_ALPHA, metavar="TIME", help=f"cost of a message (default: {DEFAULT_ALPHA})"
    )
    add("--fail", action="append", default=[], metavar="NODE:RAIL[@WHEN]", help="this rail dies; repeatable")
    add("--slow", action="append", default=[], metavar="NODE:RAIL=F[@WHEN]", help="it runs at fraction F")
    add("--recover", action="append", default=[], metavar="NODE:RAIL@WHEN", help="it works again")
    add("--unnoticed", metavar="TIME", help="how long nobody knows that a rail died on the way (default: 0)")


def _add_algorithm(simulate: Parser) -> None:
    group = simulate.add_argument_group("algorithm and data")
    add = group.add_argument
    add("-b", "--minbytes", default="32M", metavar="SIZE", help="bytes to reduce per node (default: 32M)")
    add("-n", "--iters", default="1", metavar="N", help="collectives, each planned anew (default: 1)")
    add("--re-rank", action="store_true", help="order the ring so that its weakest hop is strongest")
    add("--pieces", metavar="K", help="pieces of stage 2 (r2cc-allreduce; default: 4)")
    add("--partial", metavar="Y", help="share of the partial ring, for example 1/4 (default: the lost share)")
    add(
        "--form",
        metavar="F",
        help="r2cc-allreduce: chain (default), helper; optcc: simple (default), ordering-2, overlay, mixture",
    )
    add("--sub-pieces", metavar="S", help="parts of a piece in the helper's broadcast (default: 1)")
    add(
        "--chunk",
        metavar="SIZE",
        help="send stripes in chunks of at most this (default: whole stripes; 256K if rails fail on the way)",
    )


def _add_rules(simulate: Parser) -> None:
    group = simulate.add_argument_group("rules")
    add = group.add_argument
    add(
        "--ports",
        default="channels",
        metavar="RULE",
        help="who gets a port: channels (the lowest index among the channels' next stripes, as the executor; "
        "default), ready (among all that may go), strict (program order), fair (ports are shared)",
    )
    add(
        "--gate", default="landing", metavar="WHAT", help="what hazards hold back: landing (default) or start"
    )
