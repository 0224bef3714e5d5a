"""Simulated runs by kind and seed: what the suite samples and the campaign goes through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from algorithms.nic import Nic
from tests.protocol import directed
from tests.protocol.drawing import cutting_scenario, events_of, random_scenario
from tests.protocol.invariants import check_cut_off, check_lossless
from tests.protocol.scenarios import Fault, Nap, Scenario
from tests.protocol.world import World

Trace = Callable[[float, str], None]


class Kind(NamedTuple):
    """A kind of runs: the scenario of a seed, and the check at the end."""

    scenario: Callable[[int], Scenario]
    check: Callable[[World], None]


@dataclass(frozen=True)
class InstantRuns:
    """Small runs in which one NIC dies: for every NIC, announced or silent, lossy or late, at every event.

    Attributes:
        healthy: What happens otherwise.
        revive_after_s: When the NIC comes back, or None.
    """

    healthy: Scenario
    revive_after_s: float | None = None

    @cached_property
    def instants(self) -> int:
        """Events of such a run when nothing dies."""
        return events_of(self.healthy)

    def __len__(self) -> int:
        return self.instants * len(self.healthy.nics) * 4

    def scenario(self, index: int) -> Scenario:
        """Return one of them."""
        variant, at_event = divmod(index, self.instants)
        place, manner = divmod(variant, 4)
        nic, announced, late = self.healthy.nics[place], manner % 2 == 1, manner > 1
        return replace(self.healthy, faults=(Fault(nic, at_event, announced, late, self.revive_after_s),))


INSTANT_RUNS = (
    InstantRuns(Scenario(2, 2, (9, 3))),
    InstantRuns(Scenario(3, 2, (13, 4))),
    # A process that stops makes all the others examine their NICs, and one of these dies meanwhile.
    InstantRuns(Scenario(3, 2, (7,), naps=(Nap(Nic(1, 0), 0.002, 0.9),))),
    InstantRuns(Scenario(3, 2, (7,), naps=(Nap(Nic(1, 0), 0.002, 0.9),), slow={Nic(2, 1): 30.0}), 0.3),
)


def instant_seeds() -> int:
    """Number of runs of kind "instant"; their seeds are 0, 1, ..."""
    return sum(map(len, INSTANT_RUNS))


def instant_scenario(seed: int) -> Scenario:
    """Return the scenario in which a certain NIC dies at a certain event of a small run."""
    for runs in INSTANT_RUNS:
        if seed < len(runs):
            return runs.scenario(seed)
        seed -= len(runs)
    raise ValueError(f"there are only {instant_seeds()} such runs")


KINDS = {
    "random": Kind(random_scenario, check_lossless),
    "cut": Kind(cutting_scenario, check_cut_off),
    "instant": Kind(instant_scenario, check_lossless),
    **{scenario.__name__: Kind(scenario, check_lossless) for scenario in directed.SCENARIOS},
}


@dataclass(frozen=True)
class Case:
    """One simulated run."""

    kind: str
    seed: int

    @property
    def replay(self) -> str:
        """The command that shows what happens in it."""
        kind = "" if self.kind == "random" else f"--kind {self.kind} "
        return f"scripts/protocol-campaign {kind}--seed {self.seed} --trace"

    def run(self, trace: Trace | None = None) -> World:
        """Run it and check everything.

        Raises:
            ViolationError: An invariant does not hold.
        """
        kind = KINDS[self.kind]
        # All instants belong to the same run, which the world's own seed decides.
        world = World(kind.scenario(self.seed), 0 if self.kind == "instant" else self.seed, trace)
        world.run()
        kind.check(world)
        return world

    def failure(self) -> str | None:
        """Run it and say what is wrong, in one line; None if nothing is."""
        try:
            self.run()
        except Exception as error:  # noqa: BLE001 - whatever the protocol raises is a failure of this run alone
            return f"{type(error).__name__}: {error}".replace("\n", " ")
        return None


def failures(kind: str, seeds: Iterable[int]) -> list[str]:
    """Run many cases; describe those that fail, each with the command that replays it."""
    cases = [Case(kind, seed) for seed in seeds]
    return [f"{case.replay}: {failure}" for case in cases if (failure := case.failure())]
