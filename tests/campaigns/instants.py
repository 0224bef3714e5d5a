"""The worst instants: one rail dies after one of its chunks. Which cases there are, and what must hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from algorithms.nic import Nic
from r2cc_mpi.layout import Layout
from r2cc_mpi.protocol.settings import Settings

RATE_BYTES_PER_S = 50e6
SETTINGS = Settings.for_rate(RATE_BYTES_PER_S)
CHUNKS_OF_A_COLLECTIVE = 20
"""Chunks that each rail sends in one healthy collective: so many in each of a ring's 2 (n-1) steps."""

MANNERS = ("announced", "silent", "late", "late-silent")
"""Announced deaths are reported by the rail; late ones keep what was in flight until the rail comes back."""


@dataclass(frozen=True)
class Instant:
    """One case.

    Attributes:
        layout: Nodes and rails.
        manner: One of MANNERS.
        nic: The NIC that dies.
        chunk: After how many of its chunks in the collective, from 0 to CHUNKS_OF_A_COLLECTIVE.
    """

    layout: Layout
    manner: str
    nic: Nic
    chunk: int

    @property
    def is_silent(self) -> bool:
        """Whether nothing reports the death."""
        return self.manner.endswith("silent")

    @property
    def is_late(self) -> bool:
        """Whether what was in flight arrives in the end."""
        return self.manner.startswith("late")

    @property
    def name(self) -> str:
        """The case in one word a part, which `parse` reads."""
        return f"{short(self.layout)} {self.manner} {self.nic.node}:{self.nic.rail} {self.chunk}"

    @property
    def command(self) -> str:
        """What repeats the case alone."""
        layout, manner, nic, chunk = self.name.split()
        return f"scripts/worst-instant --layout {layout} --manner {manner} --nic {nic} --chunk {chunk}"

    @classmethod
    def parse(cls, name: str) -> Instant:
        """Read a name."""
        layout, manner, nic, chunk = name.split()
        return cls(parse_layout(layout), manner, Nic(*map(int, nic.split(":"))), int(chunk))


@dataclass(frozen=True)
class Outcome:
    """What all ranks together saw of a case.

    Attributes:
        wrong: Wrong elements, over all ranks.
        died: Whether the rail did die.
        blamed: NICs that some rank took for failed.
        known_s: Seconds from the death until every rank that heard of it had; None if nobody noticed.
        resent: Bytes that each repair of a channel sent again.
        time_s: Seconds that the slowest rank spent in the collective.
    """

    wrong: int
    died: bool
    blamed: tuple[Nic, ...]
    known_s: float | None
    resent: tuple[int, ...]
    time_s: float

    def to_json(self) -> dict[str, Any]:
        """Turn it into what JSON can write."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Outcome:
        """Read what `to_json` made."""
        blamed = tuple(Nic(*nic) for nic in entry["blamed"])
        return cls(**{**entry, "blamed": blamed, "resent": tuple(entry["resent"])})


def instants(layout: Layout, manner: str) -> list[Instant]:
    """List all cases of a layout and manner."""
    return [
        Instant(layout, manner, nic, chunk) for nic in layout for chunk in range(CHUNKS_OF_A_COLLECTIVE + 1)
    ]


def elements(layout: Layout, itemsize: int) -> int:
    """Say how many elements make every rail send CHUNKS_OF_A_COLLECTIVE full chunks.

    In each of the ring's 2 (n-1) steps a rail sends its share of a section: 1/(n g) of the array.
    """
    chunks_of_a_step = CHUNKS_OF_A_COLLECTIVE // _steps(layout.nodes)
    return layout.ranks * chunks_of_a_step * (SETTINGS.chunk_bytes // itemsize)


def _steps(nodes: int) -> int:
    return 2 * (nodes - 1)


def complaint(case: Instant, outcome: Outcome) -> str | None:
    """Say in one line what is wrong with an outcome; None if nothing is.

    Two nodes cannot tell which end of a silent rail is to blame, so there both may be. A silent death may go
    unnoticed: at the last chunks nothing is left that would miss the rail.
    """
    suspects = {case.nic}
    if case.is_silent and case.layout.nodes == 2:
        suspects.add(Nic(1 - case.nic.node, case.nic.rail))
    window_bytes = SETTINGS.window * SETTINGS.chunk_bytes
    if outcome.wrong:
        return f"{outcome.wrong} wrong elements"
    if not outcome.died:
        return f"the rail never died: it did not send {case.chunk} chunks"
    if innocent := sorted(set(outcome.blamed) - suspects):
        return f"blamed although it works: {', '.join(map(str, innocent))}"
    if not case.is_silent and not outcome.blamed:
        return "the rail reported its death, and nobody learned of it"
    if max(outcome.resent, default=0) > window_bytes:
        return f"a repair sent {max(outcome.resent)} bytes again, a window has {window_bytes}"
    return None


def parse_layout(text: str) -> Layout:
    """Read `3x2`, three nodes with two rails.

    Raises:
        ValueError: It is no layout, or its ring has a number of steps that does not divide the chunks.
    """
    nodes, rails = map(int, text.split("x"))
    if nodes < 2 or rails < 1 or CHUNKS_OF_A_COLLECTIVE % _steps(nodes):
        raise ValueError(f"{text}: {CHUNKS_OF_A_COLLECTIVE} chunks do not go into the steps of so many nodes")
    return Layout(nodes, rails)


def short(layout: Layout) -> str:
    """Write a layout as `parse_layout` reads it."""
    return f"{layout.nodes}x{layout.rails}"
