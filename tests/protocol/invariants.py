"""What must hold at the end of every simulated run, whatever happened to the network."""

from __future__ import annotations

from algorithms.nic import Nic
from r2cc_mpi.protocol.news import ErrorKind
from tests.protocol.world import UNTOUCHED, World


class Violation(AssertionError):
    """An invariant does not hold."""


def check_lossless(world: World) -> None:
    """Every rank finished every collective (results are compared on the way), then left; nothing else was
    harmed.

    Raises:
        Violation: Naming the invariant and the ranks.
    """
    _check_finished(world)
    _check_window(world)
    _check_verdicts(world)


def _check_finished(world: World) -> None:
    stuck = [str(nic) for nic, rank in world.ranks.items() if not rank.left]
    if stuck:
        states = [
            f"{nic}: completed {rank.completed}, error {rank.error}, down {[str(n) for n in rank.engine.health.down()]}"
            for nic, rank in world.ranks.items()
            if not rank.left
        ]
        raise Violation(f"at {world.now:.2f} s not left: " + "; ".join(states))


def _check_window(world: World) -> None:
    for nic, rank in world.ranks.items():
        for failover in rank.engine.hot_repair.failovers:
            if failover.resent_chunks > world.settings.window:
                raise Violation(f"{nic} resent {failover.resent_chunks} chunks at once")
        for target, channel in rank.engine.senders.items():
            receiver = world.ranks[Nic(target, nic.rail)].engine.receiver(nic.node)
            if (
                not channel.captured
                == channel.landed
                == channel.consumed
                == receiver.expected
                == receiver.consumed
            ):
                raise Violation(f"channel {nic} to node {target} is not quiescent")


def _check_verdicts(world: World) -> None:
    """A NIC is declared down only if it died; the last healthy NIC of a rail may be mistaken, as nobody is
    left to tell.
    """
    for rank in world.ranks.values():
        for detection in rank.engine.detections:
            nic = detection.nic
            healthy = [n for n in world.ranks if n.rail == nic.rail and n not in world.killed]
            if detection.version % 2 and nic not in world.killed and len(healthy) > 1:
                raise Violation(f"{rank.me} holds {nic} for down ({detection.cause}), but it never failed")


def check_cut_off(world: World, victim: int) -> None:
    """All NICs of a node died: whoever could not finish says so in time, names nodes, and its user's arrays
    are untouched.

    Raises:
        Violation: Naming the invariant and the ranks.
    """
    _check_verdicts(world)
    limit_s = world.last_death_s + world.settings.isolation_timeout_s + 2
    failed = [rank for rank in world.ranks.values() if rank.error is not None]
    for rank in world.ranks.values():
        if not rank.left and rank.error is None:
            raise Violation(f"{rank.me} neither finished nor gave up by {world.now:.2f} s")
    for rank in failed:
        assert rank.error is not None
        if rank.failed_at > limit_s:
            raise Violation(f"{rank.me} gave up at {rank.failed_at:.2f} s, later than {limit_s:.2f} s")
        if rank.error.kind is not ErrorKind.ISOLATED or "no answer by any route" not in rank.error.text:
            raise Violation(f"{rank.me} gave up for another reason: {rank.error}")
        if rank.completed < len(world.outputs):
            untouched = world.outputs[rank.completed][world.rank_number(rank.me)]
            if not (untouched == UNTOUCHED).all():
                raise Violation(f"{rank.me} wrote into the user's array of a collective that failed")
    inside = [rank for rank in failed if rank.me.node == victim]
    outside = [rank for rank in failed if rank.me.node != victim]
    if any(f"node {victim}" not in (rank.error.text if rank.error else "") for rank in outside):
        raise Violation(f"a rank outside does not name node {victim}: {[r.error for r in outside]}")
    if outside and not inside:
        raise Violation("the ranks outside gave up, those on the cut-off node did not")
