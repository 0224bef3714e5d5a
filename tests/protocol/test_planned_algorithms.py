from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.catalogue import ALGORITHMS, Case
from algorithms.nic import Nic
from tests.protocol import world as simulated_world
from tests.protocol.invariants import check_lossless
from tests.protocol.scenarios import Fault, Scenario
from tests.protocol.world import World

RELAYED = frozenset({Nic(0, 0), Nic(1, 1)})
ONE_NODE = frozenset({Nic(1, 0), Nic(1, 2)})


def run(monkeypatch, stripes, faults, seed):
    """Let the engines of all ranks carry out given stripes, whatever schedule they belong to."""
    monkeypatch.setattr(simulated_world, "healthy_mapping", lambda *_: stripes)
    counts = (120, 7, 61)
    world = World(Scenario(stripes.schedule.nodes, stripes.rails, counts, tuple(faults)), seed=seed)
    world.run()
    check_lossless(world)


@pytest.mark.parametrize(
    ("name", "nodes", "rails", "dead", "options"),
    [
        ("balance", 4, 2, RELAYED, {}),
        ("balance", 4, 3, RELAYED, {"order": (0, 2, 1, 3)}),
        ("balance", 3, 3, ONE_NODE, {}),
        ("r2cc-allreduce", 3, 3, ONE_NODE, {"pieces": 3}),
        ("r2cc-allreduce", 4, 3, ONE_NODE, {"form": "helper", "sub_pieces": 2}),
        ("r2cc-allreduce", 3, 3, ONE_NODE, {"partial": Fraction(1, 5)}),
    ],
)
@pytest.mark.parametrize("surprise", [False, True])
def test_planned_algorithms_run_on_the_engine(monkeypatch, name, nodes, rails, dead, options, surprise):
    """Planned around dead NICs, and with one more failure on the way, perhaps of a relay: sums are right."""
    rates = [[Fraction(Nic(node, rail) not in dead) for rail in range(rails)] for node in range(nodes)]
    faults = [Fault(nic, 0, announced=True, late=False) for nic in sorted(dead)]
    if surprise:
        faults.append(Fault(Nic(2, rails - 1), 900, announced=False, late=True))
    run(monkeypatch, ALGORITHMS[name](Case(rates, **options)), faults, seed=nodes)


def test_stripes_that_leave_something_out_are_seen(monkeypatch):
    """The runs above do check: with the stripes of a schedule for other data they fail."""
    rates = [[Fraction(1)] * 2] * 3
    right = ALGORITHMS["balance"](Case(rates))
    half = {name: getattr(right, name)[: len(right) // 2] for name in ("transfer", "home", "route")}
    regions = ("source_lo", "source_hi", "target_lo", "target_hi")
    half |= {name: getattr(right, name)[: len(right) // 2] for name in regions}
    wrong = type(right)(right.schedule, right.rails, right.grid, routes=right.routes, **half)
    with pytest.raises(Exception, match="the result of collective 1 is wrong"):
        run(monkeypatch, wrong, [], seed=1)
