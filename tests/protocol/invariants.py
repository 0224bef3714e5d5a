"""What must hold in every simulated run, whatever happens to the network: all the time, and at its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from algorithms.hot_repair import connected_groups
from algorithms.nic import Nic
from r2cc_mpi.protocol.news import ErrorKind

if TYPE_CHECKING:
    from r2cc_mpi.protocol.engine import Detection
    from tests.protocol.rank import Rank
    from tests.protocol.world import World


UNTOUCHED = 123456
"""What is in the user's arrays before a collective writes its result."""


class ViolationError(AssertionError):
    """An invariant does not hold."""


def check_result(rank: Rank, number: int) -> None:
    """Compare every element of a result with NumPy's sum, when a rank has completed a collective.

    Raises:
        ViolationError: The result is wrong.
    """
    world = rank.world
    found = world.outputs[number - 1][world.rank_number(rank.me)]
    if not np.array_equal(found, world.expected[number - 1]):
        raise ViolationError(f"{rank.me}: the result of collective {number} is wrong")


def check_channels(rank: Rank) -> None:
    """Compare the counters of a rank's channels with each other and with the other ends'; at any time.

    Raises:
        ViolationError: A channel holds more than its window, or believes what is not so.
    """
    window = rank.world.settings.window
    for target, sender in rank.engine.senders.items():
        receiver = rank.world.ranks[Nic(target, rank.me.rail)].engine.receiver(rank.me.node)
        consumed, landed, captured = sender.consumed, sender.landed, sender.captured
        fault = None
        if not consumed <= landed <= sender.sent <= captured <= consumed + window:
            fault = "is out of step with itself"
        elif not receiver.consumed <= receiver.expected <= receiver.consumed + window:
            fault = "holds more than a window"
        elif consumed > receiver.consumed or landed > receiver.expected or receiver.expected > captured:
            fault = "believes what is not so"
        if fault is not None:
            believed = f"consumed {consumed}, landed {landed}, sent {sender.sent}, captured {captured}"
            actual = f"consumed {receiver.consumed}, landed {receiver.expected}"
            raise ViolationError(f"{rank.me}: channel to node {target} {fault}: {believed}; true is {actual}")


def check_lossless(world: World) -> None:
    """Say that every rank finished every collective, then left, and that no harm was done.

    The results are compared on the way.

    Raises:
        ViolationError: Naming the invariant and the ranks.
    """
    _check_finished(world)
    _check_quiescent(world)
    check_window(world)
    check_verdicts(world)
    check_calm(world)


def _check_finished(world: World) -> None:
    states = [
        f"{nic}: completed {rank.completed}, error {rank.error}, down {rank.engine.health.down()}"
        for nic, rank in world.ranks.items()
        if rank.error or not rank.left
    ]
    if states:
        raise ViolationError(f"at {world.now:.2f} s not left: " + "; ".join(states))


def _check_quiescent(world: World) -> None:
    for nic, rank in world.ranks.items():
        for target, sender in rank.engine.senders.items():
            receiver = world.ranks[Nic(target, nic.rail)].engine.receiver(nic.node)
            counters = {sender.captured, sender.landed, sender.consumed, receiver.expected, receiver.consumed}
            if len(counters) > 1:
                raise ViolationError(f"channel {nic} to node {target} is not quiescent")


def check_window(world: World) -> None:
    """Say that no repair sent more than a window again.

    Raises:
        ViolationError: One did.
    """
    for nic, rank in world.ranks.items():
        for failover in rank.engine.hot_repair.failovers:
            if failover.resent_chunks > world.settings.window:
                raise ViolationError(f"{nic} resent {failover.resent_chunks} chunks at once")


def check_verdicts(world: World) -> None:
    """Say that a NIC is held for down only if it died, and for up again only if it came back.

    It must also have waited for the damping time. One kind of mistake is allowed: the last healthy NIC of a
    rail may be held for down, as nobody is left to tell.

    Raises:
        ViolationError: Naming the NIC.
    """
    for rank in world.ranks.values():
        held_down_since = 0.0
        for detection in rank.engine.detections:
            if detection.version % 2:
                _check_accusation(rank, detection)
            if detection.nic == rank.me:
                if detection.version % 2 == 0:
                    _check_comeback(rank, detection, held_down_since)
                held_down_since = detection.at


def _check_accusation(rank: Rank, detection: Detection) -> None:
    nic, deaths = detection.nic, rank.world.rails.deaths
    healthy = [other for other in rank.world.ranks if other.rail == nic.rail and not deaths[other]]
    if not deaths[nic] and len(healthy) > 1:
        raise ViolationError(f"{rank.me} holds {nic} for down ({detection.cause}), but it never failed")


def _check_comeback(rank: Rank, detection: Detection, held_down_since: float) -> None:
    world = rank.world
    damping_s = world.settings.damping_s * 2.0 ** (detection.version // 2 - 1)
    if detection.at < held_down_since + damping_s:
        raise ViolationError(f"{rank.me} did not wait {damping_s} s before it held itself for up again")
    # The NIC may have proved itself, and died while its owner waited to see whether it would flap.
    raised_at = rank.world_time(detection.at)
    dead_since = world.rails.dead_since(rank.me, raised_at)
    if dead_since is not None and raised_at > dead_since + damping_s + 0.1:
        raise ViolationError(f"{rank.me} held itself for up again, but was dead since {dead_since:.2f} s")


def check_calm(world: World) -> None:
    """Say that deaths which were announced cost no waiting: no rank had to ask for the others.

    A chunk that found no room at a relay may cost a stall, and is no mistake.

    Raises:
        ViolationError: Naming the ranks that asked.
    """
    engines = [rank.engine for rank in world.ranks.values()]
    if world.scenario.is_calm and not any(engine.network.dropped_chunks for engine in engines):
        asked = [str(engine.me) for engine in engines if engine.liveness._number]
        if asked:
            raise ViolationError(f"nothing was amiss, but some ranks stalled or answered: {', '.join(asked)}")


def check_cut_off(world: World) -> None:
    """Say that after failures separated the nodes, whoever could not finish gave up in time and did no harm.

    It names nodes of the other side, and the user's arrays are as they were.

    Raises:
        ViolationError: Naming the invariant and the ranks.
    """
    check_window(world)
    check_verdicts(world)
    scenario, dead = world.scenario, world.rails.dead
    groups = connected_groups(scenario.nodes, scenario.rails, lambda nic: nic not in dead)
    for group in groups:
        ranks = [rank for nic, rank in world.ranks.items() if nic.node in group]
        for rank in ranks:
            if rank.error is not None:
                _check_failed(rank, group)
            elif not rank.left:
                raise ViolationError(f"{rank.me} neither finished nor gave up by {world.now:.2f} s")
        if any(rank.error for rank in world.ranks.values()) and not any(rank.error for rank in ranks):
            raise ViolationError(f"some ranks gave up, but none of those on the nodes {group}")


def _check_failed(rank: Rank, group: list[int]) -> None:
    world = rank.world
    assert rank.error is not None
    limit_s = world.rails.last_death_s + world.settings.isolation_timeout_s + 2
    if rank.failed_at > limit_s:
        raise ViolationError(f"{rank.me} gave up at {rank.failed_at:.2f} s, later than {limit_s:.2f} s")
    found = re.search(r"no answer by any route for 6 s from (.*?);", rank.error.text)
    if rank.error.kind is not ErrorKind.ISOLATED or found is None:
        raise ViolationError(f"{rank.me} gave up for another reason: {rank.error}")
    listed = found[1] if found[1].startswith("nodes ") else ", ".join(re.findall(r"node (\d+)", found[1]))
    named = set(map(int, re.findall(r"\d+", listed)))
    if not named or named & set(group):
        raise ViolationError(f"{rank.me} should not name {sorted(named)}: it is connected with {group}")
    untouched = world.outputs[rank.completed : rank.completed + 1]
    number = world.rank_number(rank.me)
    if any((arrays[number] != UNTOUCHED).any() for arrays in untouched):
        raise ViolationError(f"{rank.me} wrote into the user's array of a collective that failed")
