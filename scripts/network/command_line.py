"""What `scripts/testbed` does with its words."""

from __future__ import annotations

import re
import time
from argparse import Namespace as Words
from collections.abc import Sequence
from fractions import Fraction

from pyroute2.netlink.exceptions import NetlinkError

from algorithms.nic import Nic
from r2cc_mpi.cli.launch import EndedBySignalError, ending_signals_raise
from r2cc_mpi.cli.units import parse_rate, parse_seconds
from r2cc_mpi.cli.values import convert, parse_share, whole_number
from r2cc_mpi.errors import MachineError, UsageError
from scripts.network import build
from scripts.network.job import Mpi
from scripts.network.links import How, Link
from scripts.network.parser import build_parser
from scripts.network.shape import Shape, check_name
from scripts.network.testbed import Testbed


def main(argv: Sequence[str]) -> int:
    """Carry out one command line.

    Args:
        argv: The words behind `scripts/testbed`.

    Returns:
        The exit status: that of the job, or 0; 128 + the number of the signal that ended us.

    Raises:
        R2ccError: If it cannot be done.
    """
    words = build_parser().parse_args(argv)
    try:
        with ending_signals_raise():
            return _COMMANDS[words.command](words)
    except EndedBySignalError as ended:
        return 128 + ended.number
    except (OSError, NetlinkError) as error:
        raise MachineError(f"the kernel refused: {error}") from error


def _up(words: Words) -> int:
    shape = Shape(
        words.name,
        whole_number("--nodes", words.nodes, least=1),
        whole_number("--rails", words.rails, least=1),
        convert("--rate", words.rate, parse_rate),
        slow=dict(_slow(text) for text in words.slow),
        without=frozenset(parse_nic("--without", text) for text in words.without),
    )
    build.build(shape)
    rate = f"{shape.rate_bytes_per_s * 8e-6:g} Mbit/s each way"
    print(f"testbed {shape.name}: {shape.nodes} nodes x {shape.rails} rails, {rate}")
    return 0


def _run(words: Words) -> int:
    bed = Testbed(words.name)
    ranks = None if words.ranks is None else whole_number("--ranks", words.ranks, least=bed.rails)
    limit_s = None if words.time_limit is None else convert("--time-limit", words.time_limit, parse_seconds)
    with bed.start(words.arguments, mpi=Mpi(words.mpi), ranks_per_node=ranks) as job:
        return job.wait(limit_s)


def _cut(words: Words) -> int:
    bed, nic, how = Testbed(words.name), parse_nic("cut", words.nic), How(words.how)
    bed.link(nic)  # a mistake is worth knowing at once
    _wait(words)
    moment = bed.cut(nic, how)
    print(f"{nic}: {how.value} between {moment.before_s:.6f} and {moment.after_s:.6f} s of CLOCK_MONOTONIC")
    return 0


def _heal(words: Words) -> int:
    bed, nic = Testbed(words.name), parse_nic("heal", words.nic)
    bed.link(nic)
    _wait(words)
    moment = bed.heal(nic)
    print(f"{nic}: healed between {moment.before_s:.6f} and {moment.after_s:.6f} s of CLOCK_MONOTONIC")
    return 0


def _status(words: Words) -> int:
    if words.name is None and not build.networks():
        print("no testbed is up")
    for name in build.networks() if words.name is None else [words.name]:
        try:
            bed = Testbed(name)
        except UsageError as error:
            if words.name is not None:
                raise
            print(error)
            continue
        print(f"testbed {name}: {bed.nodes} nodes x {bed.rails} rails")
        print("# " + _COLUMNS.format("node", "rail", "state", "rate (Mbit/s)", "tx (bytes)", "rx (bytes)"))
        for link in bed.links():
            print(_row(link))
    return 0


def _down(words: Words) -> int:
    check_name(words.name)
    names = build.networks() if words.all else [words.name]
    for name in names:
        if not build.parts_of(name):
            raise UsageError(f"there is no testbed {name} (there: {', '.join(build.networks()) or 'none'})")
        build.take_apart(name)
        print(f"testbed {name} is gone")
    return 0


_COLUMNS = "{:>4} {:>4}  {:<10}  {:>13}  {:>14}  {:>14}"
_COMMANDS = {"up": _up, "run": _run, "cut": _cut, "heal": _heal, "status": _status, "down": _down}


def parse_nic(option: str, text: str) -> Nic:
    """Read a NIC such as `1:0`.

    Raises:
        UsageError: If it is none.
    """
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, re.ASCII)
    if match is None:
        raise UsageError(f"{option} {text!r} is no NIC: write NODE:RAIL, for example 1:0")
    return Nic(int(match[1]), int(match[2]))


def _slow(text: str) -> tuple[Nic, Fraction]:
    nic, equals, fraction = text.partition("=")
    if not equals:
        raise UsageError(f"--slow {text!r}: write NODE:RAIL=F, for example 1:0=1/2")
    return parse_nic("--slow", nic), convert("--slow", fraction, parse_share)


def _wait(words: Words) -> None:
    if words.after is not None:
        time.sleep(convert("--after", words.after, parse_seconds))


def _row(link: Link) -> str:
    state = "up" if link.cut is None else link.cut.value
    rate = f"{link.rate_bytes_per_s * 8e-6:g}"
    return "  " + _COLUMNS.format(*link.nic, state, rate, link.tx_bytes, link.rx_bytes)
