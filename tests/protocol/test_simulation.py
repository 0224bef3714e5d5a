from __future__ import annotations

from functools import partial

import pytest

from algorithms.nic import Nic
from algorithms.verify import check
from tests.protocol.cases import INSTANT_RUNS, Case, failures, instant_scenario, instant_seeds
from tests.protocol.directed import SCENARIOS
from tests.protocol.drawing import LAYOUTS, random_scenario
from tests.protocol.scenarios import Scenario, is_connected, star_allreduce
from tests.protocol.world import World

SEEDS = 500
BLOCK = 25
INSTANT_STRIDE = 179
INSTANT_BLOCKS = 6


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_random_failures_are_survived(first):
    """On a network that stays connected every collective completes with the right result."""
    assert failures("random", range(first, first + BLOCK)) == []


def test_random_sample_covers_what_it_should():
    """The sample has all layouts and schedules, and enough of every kind of trouble."""
    sample = [random_scenario(seed) for seed in range(SEEDS)]
    assert {(one.nodes, one.rails) for one in sample} == set(LAYOUTS)
    assert {one.schedule.__name__ for one in sample} == {"ring_allreduce", "star_allreduce"}
    for wanted in ("faults", "slow", "naps", "pauses", "is_calm"):
        assert sum(bool(getattr(one, wanted)) for one in sample) > 10, wanted
    faults = [fault for one in sample for fault in one.faults]
    kinds = {(fault.announced, fault.late, fault.revive_after_s is None, fault.flaps > 0) for fault in faults}
    assert len(kinds) == 16


@pytest.mark.parametrize("seed", range(20))
def test_random_scenarios_stay_connected(seed):
    """Whatever dies in a random scenario, rails that are alive at both ends connect all nodes."""
    scenario = random_scenario(seed)
    assert is_connected(scenario.nodes, scenario.rails, {fault.nic for fault in scenario.faults})


@pytest.mark.parametrize("block", range(INSTANT_BLOCKS))
def test_death_at_any_instant_is_survived(block):
    """A NIC may die at any event of a small run, announced or not, whether or not messages arrive late."""
    step = INSTANT_STRIDE * INSTANT_BLOCKS
    assert failures("instant", range(block * INSTANT_STRIDE, instant_seeds(), step)) == []


def test_instants_are_all_different():
    """The runs of kind "instant" go through every NIC, manner and event of each base run once."""
    for runs in INSTANT_RUNS:
        faults = {runs.scenario(index).faults for index in range(0, len(runs), 7)}
        assert len(faults) == len(range(0, len(runs), 7))
    last = instant_scenario(instant_seeds() - 1).faults[0]
    assert (last.nic, last.announced, last.late) == (Nic(2, 1), True, True)
    with pytest.raises(ValueError, match=f"only {instant_seeds()}"):
        instant_scenario(instant_seeds())


@pytest.mark.parametrize("kind", [scenario.__name__ for scenario in SCENARIOS])
def test_scenarios_with_a_purpose(kind):
    """Each scenario with a purpose (see its docstring) is survived in all layouts."""
    assert failures(kind, range(12)) == []


@pytest.mark.parametrize("layout", [(1, 1), (1, 3), (3, 1), (5, 2), (2, 5)])
def test_unusual_layouts_work_without_failures(layout):
    """A single node, a single rail, five nodes and five rails complete with the right result."""
    nodes, rails = layout
    world = World(Scenario(nodes, rails, (17, 1)), seed=0)
    world.run()
    assert all(rank.left and rank.completed == 2 for rank in world.ranks.values())


@pytest.mark.parametrize("kind", ["random", "cut", "slowed"])
def test_same_seed_gives_the_same_run(kind):
    """A seed replays exactly: same number of events, same end, same lines of trace."""
    runs = []
    for _ in range(2):
        lines: list[tuple[float, str]] = []
        world = Case(kind, 5).run(partial(note, lines))
        runs.append((world.events, world.now, lines))
    assert runs[0] == runs[1]
    assert len(runs[0][2]) > 100


def note(lines: list[tuple[float, str]], now: float, line: str) -> None:
    """Keep a line of a trace."""
    lines.append((now, line))


def test_seeds_differ():
    """Different seeds give different runs of one scenario."""
    worlds = [World(Scenario(2, 2, (9,)), seed) for seed in range(5)]
    for world in worlds:
        world.run()
    assert len({world.now for world in worlds}) == 5


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_star_is_an_allreduce(nodes):
    """The schedule that stands for "anything but a ring" does what it should."""
    check(star_allreduce(nodes))


def test_failure_names_the_seed_and_how_to_replay_it(monkeypatch):
    """What a failing block shows is the command that replays the run, and the complaint."""
    monkeypatch.setattr("tests.protocol.cases.check_lossless", lambda _world: None)
    monkeypatch.setattr("tests.protocol.world.Rank.call_next", lambda _rank: 1 / 0)
    assert failures("slowed", [3]) == [
        "scripts/protocol-campaign --kind slowed --seed 3 --trace: ZeroDivisionError: division by zero"
    ]
