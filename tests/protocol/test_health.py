from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from r2cc_mpi.protocol.health import Change, HealthTable

NODES, RAILS = 2, 3
VECTORS = st.lists(st.integers(0, 9), min_size=NODES * RAILS, max_size=NODES * RAILS)


def merged(*vectors: list[int]) -> HealthTable:
    """Merge vectors one after the other into a new table."""
    table = HealthTable(NODES, RAILS)
    for vector in vectors:
        table.merge(vector)
    return table


@given(VECTORS, VECTORS)
def test_merge_is_commutative(one, other):
    """It does not matter which of two reports arrives first."""
    assert merged(one, other).versions == merged(other, one).versions


@given(VECTORS, VECTORS, VECTORS)
def test_merge_is_associative(one, other, third):
    """It does not matter whether reports were merged on the way."""
    assert (
        merged(one, merged(other, third).versions).versions
        == merged(merged(one, other).versions, third).versions
    )


@given(VECTORS, VECTORS)
def test_merge_is_idempotent_and_monotone(one, other):
    """A report that arrives twice changes nothing, and no report makes a version smaller."""
    table = merged(one)
    before = list(table.versions)
    table.merge(other)
    assert all(new >= old for new, old in zip(table.versions, before, strict=True))
    after = list(table.versions)
    assert table.merge(other) == []
    assert table.merge(before) == []
    assert table.versions == after


@given(VECTORS, VECTORS)
def test_merge_reports_what_rose(one, other):
    """The changes are the versions that rose, with both values, and those NICs are not admitted."""
    table = merged(one)
    changes = table.merge(other)
    assert changes == [
        Change(nic, before, after)
        for nic, before, after in zip(table.nics(), one, other, strict=True)
        if after > before
    ]
    assert not any(table.is_admitted(change.nic) for change in changes)


@given(VECTORS)
def test_even_is_up_and_odd_is_down(versions):
    """The version alone says whether a NIC is up."""
    table = merged(versions)
    for nic, version in zip(table.nics(), versions, strict=True):
        assert table.version(nic) == version
        assert table.is_up(nic) is (version % 2 == 0)
    assert table.down() == [nic for nic in table.nics() if not table.is_up(nic)]


@given(VECTORS, st.booleans())
def test_raising_a_version_says_so_once(versions, up):
    """A NIC is raised to the next version that says what it should, if it does not say so already."""
    table = merged(versions)
    for index, nic in enumerate(table.nics()):
        raised = table.raised(nic, up=up)
        assert (raised[index] % 2 == 0) is up
        assert raised[index] - versions[index] == (0 if table.is_up(nic) is up else 1)
        assert raised[:index] + raised[index + 1 :] == versions[:index] + versions[index + 1 :]


def test_two_peers_that_accuse_agree():
    """Two ranks that report the same NIC down independently raise the same version, and it rises once."""
    one, other = merged(), merged()
    accusation = one.raised(Nic(1, 2), up=False)
    assert accusation == other.raised(Nic(1, 2), up=False)
    one.merge(accusation)
    assert one.merge(accusation) == []
    assert one.version(Nic(1, 2)) == 1


class TestAdmission:
    """Routes may use a NIC that came back only once a START has agreed on it."""

    NIC = Nic(0, 1)

    def flapped(self, times: int = 1) -> HealthTable:
        """Return a table in which the NIC went down and came back."""
        table = merged()
        for _ in range(times):
            table.merge(table.raised(self.NIC, up=False))
            table.merge(table.raised(self.NIC, up=True))
        return table

    def test_up_is_not_admitted(self):
        """A NIC that came back is up, but not admitted, and so excluded from routes."""
        table = self.flapped()
        assert table.is_up(self.NIC)
        assert not table.is_admitted(self.NIC)
        assert table.excluded() == [self.NIC]

    def test_agreement_admits(self):
        """A START whose vector has the same version admits it, once."""
        table = self.flapped()
        assert table.admit(list(table.versions)) == [self.NIC]
        assert table.is_admitted(self.NIC)
        assert table.excluded() == []
        assert table.admit(list(table.versions)) == []

    def test_down_is_not_admitted(self):
        """A START that was agreed while the NIC was down admits nothing."""
        table = self.flapped()
        agreed = [0, 1, 0, 0, 0, 0]
        assert table.admit(agreed) == []
        assert not table.is_admitted(self.NIC)

    def test_older_agreement_does_not_admit(self):
        """A START from before the last flap does not admit a NIC that has flapped since."""
        agreed = list(self.flapped(1).versions)
        table = self.flapped(2)
        assert table.admit(agreed) == []
        assert not table.is_admitted(self.NIC)

    def test_newer_agreement_does_not_admit(self):
        """A vector that knows of a later flap admits nothing before this rank has merged it."""
        table = self.flapped(1)
        agreed = list(self.flapped(2).versions)
        assert table.admit(agreed) == []
        table.merge(agreed)
        assert table.admit(agreed) == [self.NIC]

    def test_going_down_withdraws_admission(self):
        """A NIC that goes down again is excluded at once."""
        table = self.flapped()
        table.admit(list(table.versions))
        table.merge(table.raised(self.NIC, up=False))
        assert not table.is_admitted(self.NIC)
        assert table.down() == table.excluded() == [self.NIC]
