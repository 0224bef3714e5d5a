from __future__ import annotations

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.header import Header, Kind
from r2cc_mpi.protocol.triangulation import APART, Triangulation
from tests.protocol.fakes import network, report

ME = Nic(0, 0)
PROBE_S = 1.0
START_S = 50.0


class Examination:
    """One rank that examines its NIC, with peers that behave as told.

    Attributes:
        echoing: Peers that echo over the rail.
        answering: Peers that answer over another rail, with their receive counters.
    """

    def __init__(self, nodes: int = 3) -> None:
        self.network, self.wire, self.news = network(ME, nodes)
        self.examiner = Triangulation(ME, self.news.health, self.network, PROBE_S)
        self.echoing: set[int] = set()
        self.answering: dict[int, int] = {}
        self.now = START_S
        self.asked: list[tuple[float, int]] = []

    def begin(self) -> None:
        """Begin, and let the peers react."""
        self.examiner.begin(self.now)
        self.react()

    def react(self) -> None:
        """Let the peers echo and answer what has been sent."""
        messages = [message.header for _, message in (*self.wire.sent, *self.wire.handed)]
        self.wire.sent, self.wire.handed = [], []
        for header in messages:
            node = header.target_node
            if header.kind is Kind.PROBE and node in self.echoing:
                self.examiner.echo(Header(Kind.ECHO, Nic(node, 0), 0, sequence=header.sequence))
            if header.kind is Kind.ASK:
                self.asked.append((self.now, node))
                if node in self.answering:
                    answer = Header(Kind.ANSWER, Nic(node, 0), 0, sequence=header.sequence)
                    self.examiner.answer(answer._replace(landed=self.answering[node]), self.now)

    def run(self, seconds: float) -> list[Nic]:
        """Let time pass; return the first verdict, or nothing."""
        end = self.now + seconds
        while self.now < end:
            self.now += 0.05
            dead = self.examiner.tick(self.now)
            self.react()
            if dead:
                return dead
        return []


def test_echoes_prove_all_nics():
    """If all peers echo the examination ends at once, with no verdict."""
    examination = Examination()
    examination.echoing = {1, 2}
    examination.begin()
    assert examination.run(0.1) == []
    assert not examination.examiner.is_running


def test_silent_nic_of_a_live_peer_is_dead():
    """A peer that answers twice elsewhere while its counter stands still has a dead NIC."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7}
    examination.begin()
    assert examination.run(5) == [Nic(1, 0)]
    assert (1 + APART) * PROBE_S <= examination.now - START_S < 2 * PROBE_S
    assert not examination.examiner.is_running


def test_own_nic_is_dead_when_nobody_echoes():
    """If all peers answer elsewhere, and all their counters stand still, the fault is this rank's own."""
    examination = Examination(nodes=4)
    examination.answering = {1: 7, 2: 8, 3: 9}
    examination.begin()
    assert examination.run(5) == [ME]


def test_with_two_nodes_both_ends_declare_themselves():
    """There is no third point, so the only peer's silence is held against this rank's own NIC."""
    examination = Examination(nodes=2)
    examination.answering = {1: 7}
    examination.begin()
    assert examination.run(5) == [ME]


def test_no_answer_no_verdict():
    """A peer that answers nowhere may be stopped or busy: nothing is declared, however long it lasts."""
    examination = Examination()
    examination.echoing = {2}
    for _ in range(5):
        examination.begin()
        assert examination.run(4 * PROBE_S) == []


def test_peer_that_does_not_answer_may_be_the_witness():
    """A peer that is stopped might prove this rank's NIC, so there is no verdict without it."""
    examination = Examination()
    examination.answering = {1: 7}
    for _ in range(3):
        examination.begin()
        assert examination.run(4 * PROBE_S) == []
    examination.answering[2] = 3
    examination.begin()
    assert examination.run(4 * PROBE_S) == [ME]


def test_one_answer_is_not_enough():
    """A peer that answers once and then no more is not declared anything."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7}
    examination.begin()
    examination.answering = {}
    assert examination.run(6) == []


def test_slow_nic_is_alive_as_its_counter_moves():
    """A peer whose echo takes for ever, but whose counter moves between two answers, is alive."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7}
    examination.begin()
    examination.answering = {1: 8}
    assert examination.run(6) == []
    assert not examination.examiner.is_running


def test_second_answer_counts_only_when_it_is_late_enough():
    """Answers that follow each other closely are one: the counter must have had time to move."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7}
    examination.begin()
    assert examination.run(0.9 * APART * PROBE_S) == []
    examination.answering = {1: 8}
    assert examination.run(6) == []


def test_witness_must_echo_after_the_accusation():
    """An echo from before the suspect's second count proves nothing: this rank's NIC may have died since."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7, 2: 7}
    examination.begin()
    examination.echoing = set()
    assert examination.run(8) == [ME]


def test_suspect_that_echoes_late_is_alive():
    """While the witness is asked once more, a suspect that is only slow has a whole probe time to echo."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7}
    examination.begin()
    examination.run(PROBE_S * 1.5)
    assert examination.examiner.is_running
    nonce = examination.examiner._nonce
    examination.examiner.echo(Header(Kind.ECHO, Nic(1, 0), 0, sequence=nonce))
    assert examination.run(6) == []


def test_two_dead_peers_are_found_at_once():
    """One witness is enough to hold several peers for dead."""
    examination = Examination(nodes=4)
    examination.echoing, examination.answering = {2}, {1: 7, 3: 7}
    examination.begin()
    assert examination.run(5) == [Nic(1, 0), Nic(3, 0)]


def test_echoes_and_answers_of_earlier_examinations_do_not_count():
    """A late message from an examination that is over neither saves nor accuses anybody."""
    examination = Examination()
    examination.begin()
    for node in (1, 2):
        stale = Header(Kind.ECHO, Nic(node, 0), 0, sequence=examination.examiner._nonce - 1)
        examination.examiner.echo(stale)
        for now in (START_S, START_S + 1.5):
            examination.examiner.answer(stale._replace(kind=Kind.ANSWER), now)
    assert not any(peer.echoed or peer.counts for peer in examination.examiner._peers.values())


def test_known_dead_nics_are_left_out():
    """A peer whose NIC is known to be down is neither probed nor a witness."""
    examination = Examination()
    report(examination.news, Nic(1, 0))
    examination.examiner.begin(0.0)
    probed = [message.header.target_node for _, message in examination.wire.sent]
    assert probed == [2]


def test_rank_with_a_dead_nic_examines_nothing():
    """Whose own NIC is known to be down has nothing to find out, and stops when it hears so in the middle."""
    examination = Examination()
    examination.echoing, examination.answering = {2}, {1: 7}
    examination.begin()
    report(examination.news, ME)
    assert examination.run(6) == []
    assert not examination.examiner.is_running
    examination.begin()
    assert not examination.examiner.is_running


def test_examinations_do_not_follow_each_other_too_closely():
    """An examination is not restarted, and the next begins two probe times later at the earliest."""
    examination = Examination()
    examination.echoing = {1, 2}
    examination.begin()
    examination.begin()
    assert examination.examiner._nonce == 1
    examination.run(1.9)
    examination.begin()
    assert examination.examiner._nonce == 1
    examination.run(0.2)
    examination.begin()
    assert examination.examiner._nonce == 2


def test_questions_avoid_the_examined_rail():
    """A peer is probed over the rail, and asked over another one, through a relay if need be."""
    examination = Examination()
    report(examination.news, Nic(1, 1))
    examination.examiner.begin(0.0)
    routes = {
        message.header.route for _, message in examination.wire.handed if message.header.kind is Kind.ASK
    }
    assert routes == {(Hop(1, 2),)}
    examination = Examination(nodes=4)
    examination.examiner.begin(0.0)
    assert {message.header.kind for _, message in examination.wire.sent} == {Kind.PROBE}
    assert {hop.rail for _, message in examination.wire.handed for hop in message.header.route} == {1}


def test_questions_are_repeated():
    """A question may be lost, so a peer that does not answer is asked again; one that echoed is not."""
    examination = Examination()
    examination.echoing = {2}
    examination.begin()
    examination.run(PROBE_S)
    asked = [node for _, node in examination.asked]
    assert asked.count(1) >= 4
    assert asked.count(2) == 1
