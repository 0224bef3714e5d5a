from __future__ import annotations

import json
from types import SimpleNamespace

import mpi4py
import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi.gathering import WORD, all_gather
from r2cc_mpi.layout import Layout
from tests.r2cc_mpi.fakes import IN_PLACE, FakeCommunicator

LAYOUT = Layout(2, 2)


@pytest.fixture(autouse=True)
def no_mpi(monkeypatch):
    """Put a stand-in where MPI would be imported from, since importing it starts MPI."""
    monkeypatch.setattr(mpi4py, "MPI", SimpleNamespace(IN_PLACE=IN_PLACE), raising=False)


def words_of(record):
    """Write a record as it travels."""
    text = json.dumps(record).encode()
    return np.frombuffer(text.ljust(-(-len(text) // WORD) * WORD, b" "), np.int64)


def gather_at(rank, records):
    """Let one rank gather, with the others played: they send their lengths first and then their words."""
    lengths = np.array([len(json.dumps(record).encode()) for record in records])
    lengths[rank] = 0
    blank = [words_of(record) * (other != rank) for other, record in enumerate(records)]
    answers = iter([lengths, np.concatenate(blank)])
    return gather(
        FakeCommunicator(LAYOUT.nic_of(rank), LAYOUT, others=lambda _: next(answers)), records[rank]
    )


def gather(comm, record):
    """Gather over a stand-in."""
    return all_gather(comm, record)


RECORDS = [{"node": 0, "text": "é\n"}, None, [1.5, -3, [True]], "a much longer record " * 20]


@pytest.mark.parametrize("rank", range(4))
def test_every_rank_gets_every_record(rank):
    """Records of any length come out in the order of the ranks, at every rank."""
    assert gather_at(rank, RECORDS) == RECORDS


@pytest.mark.parametrize("length", range(1, 2 * WORD + 1))
def test_any_length(length):
    """A record may end anywhere in a word."""
    records = ["x" * length, "", "y" * (WORD - 2), "z"]
    assert gather_at(1, records) == records


def test_tuples_come_back_as_lists():
    """Records come back as JSON reads them: a NIC becomes a list."""
    assert gather_at(0, [Nic(1, 2), 0, 0, 0])[0] == [1, 2]
