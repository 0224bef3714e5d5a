"""What the ranks of an experiment are to do: stages of iterations, each under a plan, in one job."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from algorithms.nic import Nic


@dataclass(frozen=True)
class Until:
    """When a stage ends early: as soon as all ranks have agreed that a NIC is up, or down.

    Attributes:
        nic: The NIC.
        is_up: Whether it has to be up.
    """

    nic: Nic
    is_up: bool


@dataclass(frozen=True)
class Stage:
    """Some iterations of one persistent AllReduce, under one plan.

    Attributes:
        label: Its name, different from those of the others.
        iterations: How many; the most, if `until` ends it.
        strategy: What to plan anew by before the first one; None: the plan before keeps replaying.
        pieces: K of the new plan; None: the planner's.
        form: Form of the new plan; None: the usual one.
        until: Ends the stage early.
    """

    label: str
    iterations: int
    strategy: str | None = None
    pieces: int | None = None
    form: str | None = None
    until: Until | None = None


@dataclass(frozen=True)
class Task:
    """All that the ranks of a job need to know.

    Attributes:
        rails: Rails of a node, whose interfaces are `rail0`, `rail1` and so on.
        elements: Elements of each rank's array, float32.
        rail_bytes_per_s: Payload that a rail carries in each direction; chunks and predictions follow it.
        stages: What to do, in order. Before the first, the plan is that of a healthy network.
        output: File for the record; rank 0 writes it.
        corrupt: Iteration, from 1, after which rank 0 spoils one element before the check; 0: none.
    """

    rails: int
    elements: int
    rail_bytes_per_s: float
    stages: tuple[Stage, ...]
    output: str
    corrupt: int = 0

    @property
    def interfaces(self) -> list[str]:
        """Names of a node's interfaces, by rail."""
        return [f"rail{rail}" for rail in range(self.rails)]

    @property
    def size_bytes(self) -> int:
        """Bytes of a rank's array."""
        return 4 * self.elements

    def write(self, file: Path) -> None:
        """Write it for the ranks."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_task(file: Path) -> Task:
    """Read what :meth:`Task.write` wrote."""
    words = json.loads(file.read_text(encoding="utf-8"))
    stages = words.pop("stages")
    return Task(stages=tuple(map(_read_stage, stages)), **words)


def _read_stage(words: dict[str, object]) -> Stage:
    until = words.pop("until")
    if isinstance(until, dict):
        return Stage(**words, until=Until(Nic(*until["nic"]), until["is_up"]))  # type: ignore[arg-type]
    return Stage(**words)  # type: ignore[arg-type]
