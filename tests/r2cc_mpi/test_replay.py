from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi.agreed_plan import FreshPlanner
from r2cc_mpi.expected_time import predicted_s
from r2cc_mpi.layout import Layout
from r2cc_mpi.planning import Wishes
from r2cc_mpi.protocol.news import Signature, Start
from r2cc_mpi.replay import Agreement, Replay, token
from r2cc_mpi.strategy import FORMS, Collective, Strategy, dtype_code

LAYOUT = Layout(3, 3)
CHUNK = 256 * 1024
COUNT = 3_000_000
DEAD = Nic(1, 1)
FLOAT = dtype_code(np.dtype(np.float32))
RATE = Fraction(10_000_000)
HEALTHY_S = COUNT * 4 / (RATE * 3) * Fraction(4, 3)


def planner(strategy="auto", nic=DEAD, rate=RATE, **more):
    """Make a rank's planner."""
    wishes = Wishes(Strategy.parse(strategy), rail_bytes_per_s=rate, **more)
    return FreshPlanner(LAYOUT, nic, CHUNK, wishes)


def start(*down, number=7):
    """Make the START of a sum of floats, with some NICs down."""
    versions = tuple(int(nic in down) for nic in LAYOUT)
    return Start(number, Signature(Collective.ALLREDUCE, COUNT, FLOAT, 0, 0), versions)


def test_agreement_plans_what_start_says():
    """The plan is that of a call with this START; the barrier around it makes room for both."""
    for down in ((), (DEAD,)):
        agreement = Agreement(planner("balance"), 0)
        barrier = agreement.plan(start(*down))
        made = agreement.made
        assert made is not None
        assert made == planner("balance").plan(start(*down))
        assert made.down == down
        assert made.choice.strategy is (Strategy.BALANCE if down else Strategy.RING)
        assert (barrier.buffer_bytes, barrier.operations) == (COUNT * 4, made.operations)
        assert all(one.hi <= 1 for ones in barrier.node.sends.values() for one in ones)
        assert agreement.planning_s > 0


def test_agreement_of_ranks_without_room_for_a_barrier():
    """A plan that needs less room than the barrier does not take the barrier's."""
    tiny = start()._replace(signature=start().signature._replace(elements=1))
    agreement = Agreement(planner(), 0)
    room_bytes = agreement.plan(tiny).buffer_bytes
    assert agreement.made is not None
    assert room_bytes == token().send.nbytes > agreement.made.buffer_bytes


def test_agreement_compares_what_is_asked_for():
    """Its signature has all in which ranks may differ: strategy, pieces, form, and the plan it replaces."""
    asked = start().signature
    stamps = {
        Agreement(planner(strategy, pieces=pieces, form=form), replaced).stamp(asked)
        for strategy, pieces, form in (("auto", None, None), ("optcc", 3, None), ("optcc", 3, "overlay"))
        for replaced in (0, 4)
    }
    assert len(stamps) == 6
    full = Agreement(planner("optcc", pieces=3, form="overlay"), 4).stamp(asked)
    assert (full.collective, full.strategy, full.plan) == (Collective.PLAN, Strategy.OPTCC, 4)
    assert (full.pieces, FORMS[full.form]) == (3, "overlay")
    assert full[1:4] == asked[1:4]


def test_replay_gives_its_plan_again():
    """Whatever START says is down, the plan is the very same; only what is in force has another name."""
    plan = planner().plan(start())
    replay = Replay(plan, 5, planner().wishes)
    assert replay.plan(start(DEAD)) is plan
    assert replay.stamp(start().signature) == start().signature._replace(plan=5)
    assert [plan.in_force(excluded) for excluded in ((), (DEAD,))] == [Strategy.RING, Strategy.HOT_REPAIR]
    balanced = planner("balance").plan(start(DEAD))
    in_force = [balanced.in_force(excluded) for excluded in ((), (DEAD,), (DEAD, Nic(0, 0)))]
    assert in_force == [Strategy.BALANCE, Strategy.BALANCE, Strategy.HOT_REPAIR]


@pytest.mark.parametrize("strategy", ["ring", "auto"])
def test_only_ring_stops(strategy):
    """Who asked for ring gets fail-stop, of the agreement and of every replay."""
    asked = planner(strategy)
    plan = asked.plan(start())
    stops = [one.is_fail_stop for one in (asked, Agreement(asked, 0), Replay(plan, 1, asked.wishes))]
    assert stops == [strategy == "ring"] * 3


@pytest.mark.parametrize(
    ("strategy", "pieces", "form", "ratio"),
    [
        ("hot-repair", None, None, Fraction(2)),
        ("balance", None, None, Fraction(3, 2)),
        ("r2cc-allreduce", 4, "chain", Fraction(23, 16)),
        ("r2cc-allreduce", 1, "chain", Fraction(13, 8)),
    ],
)
def test_predictions_are_the_closed_forms(strategy, pieces, form, ratio):
    """Plans around one dead NIC of 3 x 3 take what table 4's formulas say, over the healthy ring."""
    wishes = planner(strategy, pieces=pieces, form=form).wishes
    plan = planner(strategy, pieces=pieces, form=form).plan(start(DEAD))
    assert predicted_s(LAYOUT, wishes, plan, [DEAD]) == pytest.approx(float(ratio * HEALTHY_S), rel=1e-12)


def test_predictions_of_old_plans():
    """The ring's time follows what is down; another plan's does not, and under HotRepair it has none."""
    wishes = planner().wishes
    ring, balanced = planner().plan(start()), planner("balance").plan(start(DEAD))
    healthy = float(HEALTHY_S)
    assert predicted_s(LAYOUT, wishes, ring, []) == pytest.approx(healthy)
    assert predicted_s(LAYOUT, wishes, ring, [DEAD]) == pytest.approx(2 * healthy)
    assert predicted_s(LAYOUT, wishes, balanced, []) == pytest.approx(1.5 * healthy)
    assert predicted_s(LAYOUT, wishes, balanced, [DEAD, Nic(0, 0)]) is None
    assert predicted_s(LAYOUT, replace(wishes, rail_bytes_per_s=None), ring, []) is None
