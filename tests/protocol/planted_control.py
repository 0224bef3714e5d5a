"""Errors to plant where ranks agree: news, verdicts, signs of life, recovery, closing."""

from __future__ import annotations

import pytest

from algorithms.nic import Nic
from r2cc_mpi.protocol.closing import Close
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.health import Change, HealthTable
from r2cc_mpi.protocol.liveness import Liveness, describe
from r2cc_mpi.protocol.network import Network
from r2cc_mpi.protocol.news import Closing
from r2cc_mpi.protocol.recovery import Recovery
from r2cc_mpi.protocol.triangulation import Triangulation, _Peer


def news_is_not_flooded(patch: pytest.MonkeyPatch):
    """Nobody tells what it has learned, except when asked."""
    patch.setattr(Engine, "_flood_news", lambda _self: None)


def news_is_not_passed_on(patch: pytest.MonkeyPatch):
    """Ranks keep to themselves what others tell them."""

    def read(self, origin, body, now):
        self._apply(self.news.merge(body).changes, now, "news")

    patch.setattr(Engine, "_read_news", read)


def hellos_are_not_passed_on(patch: pytest.MonkeyPatch):
    """Signs of life reach only those next to a rank."""
    heard = Liveness.heard

    def deaf(self, rank, number, now):
        heard(self, rank, number, now)
        return False

    patch.setattr(Liveness, "heard", deaf)


def the_latest_rumour_wins(patch: pytest.MonkeyPatch):
    """Health versions are overwritten by whatever arrives, also by older ones."""

    def merge(self, versions):
        known = zip(self.nics(), tuple(self.versions), versions, strict=True)
        changes = [Change(nic, before, after) for nic, before, after in known if before != after]
        for change in changes:
            self.versions[self._index(change.nic)] = change.after
            self._admitted[self._index(change.nic)] = False
        return changes

    patch.setattr(HealthTable, "merge", merge)


def a_stall_counts_as_death(patch: pytest.MonkeyPatch):
    """A NIC that does not echo in time is dead, whether or not its owner answers elsewhere."""
    patch.setattr(_Peer, "is_dead", lambda self: not self.echoed)


def one_answer_counts_as_death(patch: pytest.MonkeyPatch):
    """A NIC is dead as soon as its owner answers over another rail before it echoes."""
    patch.setattr(_Peer, "is_dead", lambda self: not self.echoed and len(self.counts) > 0)


def arrivals_are_not_counted(patch: pytest.MonkeyPatch):
    """The receive counter that ASK asks for stands still."""
    patch.setattr(Network, "arrived_by_rail", lambda self, _node, message: self.arrived_locally(message))


def accusers_need_no_witness(patch: pytest.MonkeyPatch):
    """A silent peer is held for dead without a third NIC that proves the accuser's own."""

    def accuse(self, _now):
        dead = [Nic(node, self._me.rail) for node in self._suspects]
        self._suspects, self._peers = [], {}
        return dead

    patch.setattr(Triangulation, "_confirm", accuse)


def suspects_get_no_time(patch: pytest.MonkeyPatch):
    """A suspect is held for dead as soon as the witness echoes, however slow the suspect is."""
    confirm = Triangulation._confirm

    def hasty(self, now):
        if any(peer.echoed for node, peer in self._peers.items() if node not in self._suspects):
            self._confirming_since = float("-inf")
        return confirm(self, now)

    patch.setattr(Triangulation, "_confirm", hasty)


def nobody_gives_up(patch: pytest.MonkeyPatch):
    """Ranks wait for ever for a node that is cut off."""
    patch.setattr(Liveness, "silent_ranks", lambda _self, _now: [])


def ranks_give_up_too_early(patch: pytest.MonkeyPatch):
    """Ranks wait for a second only."""
    silent_ranks = Liveness.silent_ranks
    patch.setattr(Liveness, "silent_ranks", lambda self, now: silent_ranks(self, now + 5))


def ranks_give_up_too_late(patch: pytest.MonkeyPatch):
    """Ranks wait three seconds longer than they should."""
    silent_ranks = Liveness.silent_ranks
    patch.setattr(Liveness, "silent_ranks", lambda self, now: silent_ranks(self, now - 3))


def pauses_are_not_forgiven(patch: pytest.MonkeyPatch):
    """A process that was stopped blames the others for the silence."""
    patch.setattr(Liveness, "forgive", lambda _self, _pause_s: None)


def nobody_is_named(patch: pytest.MonkeyPatch):
    """The message of a rank that gives up names no node."""
    text = "no answer by any route for 6 s from somebody; sorry"
    patch.setattr("r2cc_mpi.protocol.engine.describe", lambda *_arguments: text)


def the_wrong_nodes_are_named(patch: pytest.MonkeyPatch):
    """The message of a rank that gives up names those that it can reach."""

    def turned(silent, nodes, rails, timeout_s):
        return describe(
            [rank for rank in range(nodes * rails) if rank not in silent], nodes, rails, timeout_s
        )

    patch.setattr("r2cc_mpi.protocol.engine.describe", turned)


def nics_come_back_without_an_echo(patch: pytest.MonkeyPatch):
    """A dead NIC is held for up again after some time."""
    tick = Recovery.tick

    def hope(self, now):
        self._proved_at = now if self._proved_at is None else self._proved_at
        return tick(self, now)

    patch.setattr(Recovery, "tick", hope)


def an_old_echo_is_proof(patch: pytest.MonkeyPatch):
    """The echo after one failure serves for the next one too."""
    patch.setattr(Recovery, "lost_again", lambda _self: None)


def ranks_leave_when_their_work_is_done(patch: pytest.MonkeyPatch):
    """A rank leaves without waiting for the others."""
    patch.setattr(Close, "may_leave", lambda self, _now: self._news.closing[self._rank] >= Closing.DONE)


def ranks_leave_after_a_short_silence(patch: pytest.MonkeyPatch):
    """A rank whose node is cut off for a moment does not stay until the others can hear that it is done."""
    may_leave = Close.may_leave

    def hasty(self, now):
        self._linger_s = 1.0
        return may_leave(self, now)

    patch.setattr(Close, "may_leave", hasty)
