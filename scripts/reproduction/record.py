"""What a job gave back: its iterations, its plans, and when which rank learned of which failure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from algorithms.nic import Nic


class Carried(NamedTuple):
    """Bytes that the kernel counted at an interface, with all headers."""

    tx: int
    rx: int


@dataclass(frozen=True)
class Iteration:
    """An iteration, of all ranks together.

    Attributes:
        stage: Label of its stage.
        number: Its number in the job, from 1.
        began_at: When the first rank began, on CLOCK_MONOTONIC.
        ended_at: When the last one had its result.
        network_s: Seconds between nodes, of the slowest rank.
        strategy: What was in force when it ended.
        wrong: Wrong elements on all ranks.
        resent_bytes: Payload that was sent again.
        kernel: What each interface carried until the next iteration began.
    """

    stage: str
    number: int
    began_at: float
    ended_at: float
    network_s: float
    strategy: str
    wrong: int
    resent_bytes: int
    kernel: Mapping[Nic, Carried]


@dataclass(frozen=True)
class Plan:
    """A plan of the persistent collective.

    Attributes:
        stage: Label of the stage that asked for it; empty for the first.
        strategy: What it runs.
        agreed_s: Seconds until all ranks had it, of the slowest rank.
        predicted_s: What the formula says for an iteration, seconds; None where there is none.
        excluded: NICs that it does without.
    """

    stage: str
    strategy: str
    agreed_s: float
    predicted_s: float | None
    excluded: tuple[Nic, ...]


class Learned(NamedTuple):
    """A rank came to know that a NIC went down or came back.

    Attributes:
        rank: The NIC of the rank that learned it.
        nic: The NIC that changed.
        at: When, on CLOCK_MONOTONIC.
        is_up: Whether it came back.
        cause: How the rank knew.
    """

    rank: Nic
    nic: Nic
    at: float
    is_up: bool
    cause: str


@dataclass(frozen=True)
class JobRecord:
    """A job.

    Attributes:
        iterations: In order.
        plans: In order.
        learned: In no order.
        stall_s: How long a silence has to last before anybody asks.
        probe_s: How long a probe takes.
    """

    iterations: tuple[Iteration, ...]
    plans: tuple[Plan, ...]
    learned: tuple[Learned, ...]
    stall_s: float
    probe_s: float

    @property
    def wrong(self) -> list[str]:
        """In which iterations there were wrong elements, and how many; nothing if all were exact."""
        return [f"iteration {one.number}: {one.wrong} wrong elements" for one in self.iterations if one.wrong]

    def of(self, stage: str) -> tuple[Iteration, ...]:
        """List the iterations of a stage."""
        return tuple(one for one in self.iterations if one.stage == stage)

    def median_s(self, stage: str) -> float:
        """Give the median of the seconds that a stage's iterations took between nodes."""
        return median(one.network_s for one in self.of(stage))

    def plan_of(self, stage: str) -> Plan:
        """Find the plan that a stage asked for.

        Raises:
            KeyError: It asked for none.
        """
        for plan in self.plans:
            if plan.stage == stage:
                return plan
        raise KeyError(stage)

    def downs(self, nic: Nic, since: float, until: float) -> list[Learned]:
        """List who learned between two instants that a NIC is down."""
        return [one for one in self.learned if one.nic == nic and not one.is_up and since <= one.at < until]


def read_record(file: Path) -> JobRecord:
    """Read what the ranks wrote."""
    ranks: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    first = ranks[0]
    return JobRecord(
        tuple(_iteration(ranks, index) for index in range(len(first["iterations"]))),
        tuple(_plan([rank["plans"][index] for rank in ranks]) for index in range(len(first["plans"]))),
        tuple(_all_learned(ranks)),
        first["stall_s"],
        first["probe_s"],
    )


def _iteration(ranks: Iterable[dict[str, Any]], index: int) -> Iteration:
    views = [rank["iterations"][index] for rank in ranks]
    strategies = {view["strategy"] for view in views}
    return Iteration(
        stage=views[0]["stage"],
        number=index + 1,
        began_at=min(view["began_at"] for view in views),
        ended_at=max(view["ended_at"] for view in views),
        network_s=max(view["network_s"] for view in views),
        # A rank that had finished before the failure has not seen it.
        strategy="hot-repair" if "hot-repair" in strategies else "/".join(sorted(strategies)),
        wrong=sum(view["wrong"] for view in views),
        resent_bytes=sum(view["resent_bytes"] for view in views),
        kernel={Nic(*rank["nic"]): _carried(rank, index) for rank in ranks},
    )


def _carried(rank: dict[str, Any], index: int) -> Carried:
    readings = [*(one["kernel"] for one in rank["iterations"]), rank["kernel"]]
    return Carried(
        *(after - before for before, after in zip(readings[index], readings[index + 1], strict=True))
    )


def _plan(views: list[dict[str, Any]]) -> Plan:
    first = views[0]
    return Plan(
        first["stage"],
        first["strategy"],
        max(view["agreed_s"] for view in views),
        first["predicted_s"],
        tuple(Nic(*nic) for nic in first["excluded"]),
    )


def _all_learned(ranks: Iterable[dict[str, Any]]) -> Iterator[Learned]:
    for rank in ranks:
        for nic, at, is_up, cause in rank["learned"]:
            yield Learned(Nic(*rank["nic"]), Nic(*nic), at, is_up, cause)
