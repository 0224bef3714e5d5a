"""How soon a cut is known, and what it costs the iteration it hits: one job, many cuts, each healed again.

The instant of a cut is that just before the process outside asked the kernel for it; the ranks read the same
clock. The kernel takes some milliseconds until it answers, and says what happened on the way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NamedTuple

from algorithms.nic import Nic
from analysis.reports.report import Column, Fact, Form, Report
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.network.testbed import Testbed
from scripts.reproduction.experiments import ITERATION_S, START_S, allowed_s, verdict
from scripts.reproduction.record import JobRecord
from scripts.reproduction.session import Action, Outcome, run_task
from scripts.reproduction.setting import Setting
from scripts.reproduction.table4 import MOST_WAITING
from scripts.reproduction.task import Stage, Until

HEALTHY = "healthy"
KNOWN_WITHIN_S = 0.05
"""Within this a cut that the kernel reports has to be known at both ends; the median."""


class Cut(NamedTuple):
    """A cut that is to be made: which NIC, and at which part of a healthy iteration."""

    nic: Nic
    at: float


@dataclass(frozen=True)
class Hit:
    """What came of a cut.

    Attributes:
        nic: The NIC.
        own_s: Seconds until its own rank knew.
        both_s: Seconds until all ranks on its rail knew, that is, both ends of each of its hops.
        cause: How the first of them knew.
        time_s: What the iteration took that was hit.
        allowed_s: What it may take.
    """

    nic: Nic
    own_s: float
    both_s: float
    cause: str
    time_s: float
    allowed_s: float


def draw(setting: Setting, count: int, seed: int) -> list[Cut]:
    """Draw cuts that go around the NICs, each at an instant of its own in the first two thirds."""
    dice = random.Random(seed)
    nics = [Nic(node, rail) for node in range(setting.nodes) for rail in range(setting.rails)]
    dice.shuffle(nics)
    return [Cut(nics[index % len(nics)], dice.uniform(0.05, 0.65)) for index in range(count)]


def run(setting: Setting, cuts: Sequence[Cut], mpi: Mpi, how: How, limit_s: float | None = None) -> Outcome:
    """Run the job on a network of its own."""
    stages = [Stage("warm-up", 1), Stage(HEALTHY, 5)]
    for index, cut in enumerate(cuts):
        stages.append(Stage(f"cut {index}", MOST_WAITING, until=Until(cut.nic, is_up=False)))
        stages.append(Stage(f"heal {index}", MOST_WAITING, until=Until(cut.nic, is_up=True)))
    usual_s = START_S + len(cuts) * (6 * setting.hot_repair_s + 2 * ITERATION_S + 10)
    with setting.build() as bed:
        actions = [
            action for index, cut in enumerate(cuts) for action in _actions(bed, setting, index, cut, how)
        ]
        return run_task(bed, setting.task(stages), mpi, actions, limit_s or usual_s)


def _actions(bed: Testbed, setting: Setting, index: int, cut: Cut, how: How) -> list[Action]:
    delay_s = cut.at * setting.healthy_s
    return [
        Action(f"cut {index}", f"cut {index}", 1, delay_s, partial(bed.cut, cut.nic, how)),
        Action(f"heal {index}", f"heal {index}", 1, 0.0, partial(bed.heal, cut.nic)),
    ]


def hits(setting: Setting, cuts: Sequence[Cut], outcome: Outcome) -> tuple[list[Hit], list[str]]:
    """Work out what came of each cut.

    Returns:
        What came of those that hit, and what went wrong.
    """
    record = outcome.record
    if outcome.failure or record is None:
        return [], [outcome.failure]
    found = [_hit(setting, index, cut, outcome, record) for index, cut in enumerate(cuts)]
    amiss = [one for one in found if isinstance(one, str)]
    return [one for one in found if isinstance(one, Hit)], record.wrong + amiss


def _hit(setting: Setting, index: int, cut: Cut, outcome: Outcome, record: JobRecord) -> Hit | str:
    name, moments = f"cut {index}", outcome.moments
    if name not in moments or f"heal {index}" not in moments:
        return f"{name} ({cut.nic}) had no turn"
    cut_at, healed_at = moments[name].before_s, moments[f"heal {index}"].before_s
    downs = record.downs(cut.nic, cut_at, healed_at)
    firsts = {one.rank: one for one in reversed(downs)}
    rail = [Nic(node, cut.nic.rail) for node in range(setting.nodes)]
    unaware = [str(nic) for nic in rail if nic not in firsts]
    blamed = {one.nic for one in record.learned if not one.is_up and cut_at <= one.at < healed_at} - {cut.nic}
    if unaware or blamed:
        return f"{name} ({cut.nic}): unaware {unaware}, wrongly blamed {sorted(map(str, blamed))}"
    iteration = next(one for one in record.iterations if one.ended_at > cut_at)
    if iteration.began_at > cut_at:
        return f"{name} ({cut.nic}) fell between two iterations"
    both_s = max(firsts[nic].at for nic in rail) - cut_at
    first = min(firsts.values(), key=lambda one: one.at)
    allowed = allowed_s(setting, cut_at - iteration.began_at, both_s, record.median_s(HEALTHY))
    own_s = firsts[cut.nic].at - cut_at
    return Hit(cut.nic, own_s, both_s, first.cause, iteration.network_s, allowed)


def limit_of(how: How, record: JobRecord) -> float:
    """Give the seconds within which a cut has to be known: the median of all, of a black hole each.

    A black hole is noticed after the stall time. The owner of the NIC then asks twice within a probe time and
    knows; only if it cannot tell, a witness gets another one (`r2cc_mpi.protocol.triangulation`).
    """
    return record.stall_s + record.probe_s if how is How.BLACK_HOLE else KNOWN_WITHIN_S


COLUMNS = (
    Column("nic", "NIC", form=Form.TEXT),
    Column("own_s", "own rank knew", "s", digits=4),
    Column("both_s", "both ends", "s", digits=4),
    Column("cause", "first by", form=Form.TEXT),
    Column("time_s", "iteration", "s"),
    Column("allowed_s", "allowed", "s"),
    Column("used", "used", form=Form.PERCENT, digits=0),
)


def report(setting: Setting, cuts: Sequence[Cut], mpi: Mpi, how: How, outcome: Outcome) -> Report:
    """Make the table of one kind of cut."""
    done, found = hits(setting, cuts, outcome)
    facts, misses = [], []
    if done and outcome.record is not None:
        known = [one.both_s for one in done]
        limit_s = limit_of(how, outcome.record)
        facts = [
            Fact(Column("median_s", "known at both ends, median", "s", digits=4), median(known)),
            Fact(Column("most_s", "known at both ends, latest", "s", digits=4), max(known)),
            Fact(Column("limit_s", "limit", "s", digits=4), limit_s),
        ]
        judged = max(known) if how is How.BLACK_HOLE else median(known)
        late = sum(one.time_s > one.allowed_s for one in done)
        misses += [f"known too late ({judged:.4f} s)"] * (judged > limit_s)
        misses += [f"{late} iterations took longer than allowed"] * bool(late)
    return Report(
        name="detection",
        title=f"{len(cuts)} cuts ({how.value}): {setting}, {mpi.value}",
        source="measured here; allowed: detection + HotRepair for what is left + 10 %, from the healthy one",
        columns=COLUMNS,
        rows=tuple(
            (
                str(one.nic),
                one.own_s,
                one.both_s,
                one.cause,
                one.time_s,
                one.allowed_s,
                one.time_s / one.allowed_s,
            )
            for one in done
        ),
        facts=tuple(facts),
        notes=(*(f"aim missed: {miss}" for miss in misses), *verdict(found)),
        ok=not found,
    )
