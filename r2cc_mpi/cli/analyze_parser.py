"""The words of `r2cc analyze`. What they mean is for `analyze_options` to say."""

from __future__ import annotations

import argparse

from r2cc_mpi.cli.argument_parser import Parser

ABOUT = {
    "table1": "paper 1: gap between the rule Y = X and the best split; exit 2 if a printed digit differs",
    "figure6": "paper 1: what each node carries in the 4-node example",
    "figure7": "paper 1: overhead of each scheme over the lost share of bandwidth",
    "figure17": "paper 1: the gap of table 1 over X, log scale",
    "table4": "paper 1: times measured with CUDA graphs, beside the formulas; exit 2 if they are far off",
    "k-sweep": "the authors' runs with 1 to 16 pieces, beside the formulas; exit 2 if they are far off",
    "bound": "the least time possible: a table, or for --bandwidths, or for --nodes --rails --fail",
    "training": "what an overhead of AllReduce does to an iteration of training",
    "headline": "paper 2: its 2 to 6 % and 57 % by simulation, over p, X and the size of the data (seconds)",
    "failures": "random dead rails on 512 and 1,024 GPUs: what schemes lose, beside paper 1's simulations",
}
"""What can be analysed, one line each, in the order of the help."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to those of `r2cc`."""
    analyze = commands.add_parser(
        "analyze",
        help="the papers' numbers beside ours",
        description="Print a table or figure of the papers, computed again from the models. Needs no MPI.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"WHAT is one of\n{_list_of_reports()}\n\nexamples:\n"
        "  r2cc analyze table1\n"
        "  r2cc analyze figure7 --nodes 8 --rails 8 --plot figure7.png\n"
        "  r2cc analyze bound --bandwidths 1,1,3/4,1/2\n"
        "  r2cc analyze bound --nodes 4 --rails 2 --fail 0:0 --fail 2:0 --fail 1:1\n"
        "  r2cc analyze failures --nodes 32 --dead 1,2,4 --samples 20000 --plot failures.png",
        allow_abbrev=False,
    )
    analyze.add_argument("what", metavar="WHAT", help="see below")
    _add_cases(analyze)
    _add_outputs(analyze)


def _add_cases(analyze: Parser) -> None:
    group = analyze.add_argument_group("what to compute (not every WHAT takes all of them)")
    add = group.add_argument
    add("--nodes", metavar="N", help="number of nodes")
    add("--rails", metavar="G", help="rails of each node")
    add("--lost", metavar="X", help="share of its bandwidth that one node lost, for example 1/8 or 0.125")
    add("--fail", action="append", default=[], metavar="NODE:RAIL", help="this rail is dead; repeatable")
    add("--slow", action="append", default=[], metavar="NODE:RAIL=F", help="this rail runs at fraction F")
    add("--bandwidths", metavar="LIST", help="bandwidth of each node, for example 1,1,0.75,1/2")
    add("--exposed", metavar="LIST", help="shares of an iteration in which compute waits for AllReduce")
    add("--sizes", metavar="LIST", help="bytes of data, for example 1G,64G")
    add("--alpha", metavar="TIME", help="cost of a message (default: 10us)")
    add("--rail-rate", metavar="RATE", help="of each of 8 rails (default: 400Gbit/s)")
    add("--messages", metavar="N", help="simulate cases of up to N messages (default: 12000)")
    add("--dead", metavar="LIST", help="numbers of random dead rails, for example 1,10")
    add("--samples", metavar="N", help="random placements for each number (default: 5000)")
    add("--seed", metavar="N", help="equal seeds draw equal placements (default: 1)")


def _add_outputs(analyze: Parser) -> None:
    group = analyze.add_argument_group(
        "reports (FILE - is standard output; the text then goes to standard error)"
    )
    add = group.add_argument
    add("--json", metavar="FILE", help="also write everything as JSON")
    add("--csv", metavar="FILE", help="also write the rows as CSV")
    add("--plot", metavar="FILE", help="also draw it, FILE ending in .png or .svg (needs matplotlib)")


def _list_of_reports() -> str:
    return "\n".join(f"  {what:<10}{about}" for what, about in ABOUT.items())
