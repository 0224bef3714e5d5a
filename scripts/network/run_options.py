"""What `r2cc run` has to be told about a test network."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from scripts.network.build import rail_name
from scripts.network.links import Link

PAYLOAD = Fraction(1448, 1514)
"""What TCP leaves for data of a frame as token buckets count it: headers are 14 bytes of Ethernet, 20 of IP
and 32 of TCP."""


def run_options(nodes: int, rails: int, links: Sequence[Link], given: Sequence[str]) -> list[str]:
    """Write the options that describe a network.

    Args:
        nodes: How many nodes it has.
        rails: How many rails.
        links: The links of the NICs that exist.
        given: What the user has written; his own interfaces, backend and rate are left alone.

    Raises:
        UsageError: If a link is cut.
    """
    for link in links:
        if link.cut:
            raise UsageError(
                f"{link.nic} is cut ({link.cut.value}), and no MPI starts over such a rail: heal it first"
            )
    words = ["--nodes", str(nodes), "--rails", str(rails)]
    if _has(given, "--interfaces") or _has(given, "--backend"):
        return words
    words += ["--interfaces", ",".join(map(rail_name, range(rails)))]
    rates = {link.nic: link.rate_bytes_per_s for link in links}
    fastest = max(rates.values())
    if not _has(given, "--rail-rate"):
        words += ["--rail-rate", f"{fastest * 8 * PAYLOAD:.0f}bit/s"]
    for nic in (Nic(node, rail) for node in range(nodes) for rail in range(rails)):
        if nic not in rates:
            words += ["--fail", f"{nic.node}:{nic.rail}"]
        elif rates[nic] < fastest:
            fraction = Fraction(rates[nic] / fastest).limit_denominator(1000)
            words += ["--slow", f"{nic.node}:{nic.rail}={fraction}"]
    return words


def _has(given: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in given)
