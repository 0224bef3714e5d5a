from __future__ import annotations

import pytest

from r2cc_mpi.protocol.news import Signature
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.signatures import difference
from r2cc_mpi.strategy import FORMS, Collective, Strategy

CALL = Signature(Collective.ALLREDUCE, 100, 0, Reduction.SUM, Strategy.AUTO)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"elements": 7}, "elements 7 instead of 100"),
        ({"dtype": 2}, "dtype int32 instead of float32"),
        (
            {"op": Reduction.MAX, "strategy": Strategy.RING},
            "op max instead of sum, strategy ring instead of auto",
        ),
        ({"collective": Collective.BARRIER}, "collective Barrier instead of Allreduce"),
        ({"plan": 3, "pieces": 2}, "plan 3 instead of 0, pieces 2 instead of 0"),
        ({"form": FORMS.index("overlay")}, "form overlay instead of None"),
    ],
)
def test_differences_have_names(change, words):
    """What differs is named as the user names it, and nothing else is."""
    assert difference(CALL._replace(**change), CALL) == words
