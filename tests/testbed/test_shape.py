from __future__ import annotations

from fractions import Fraction

import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import UsageError
from scripts.network.shape import Shape


def test_nics_and_rates():
    """A missing NIC is not listed, and a slow one has its fraction of the rate."""
    shape = Shape("a", 2, 2, 8e6, slow={Nic(1, 0): Fraction(1, 4)}, without=frozenset({Nic(0, 1)}))
    assert list(shape.nics()) == [Nic(0, 0), Nic(1, 0), Nic(1, 1)]
    assert [shape.rate_of(nic) for nic in shape.nics()] == [8e6, 2e6, 8e6]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "no-dash"}, "--name 'no-dash'"),
        ({"nodes": 0}, "0 nodes"),
        ({"rails": 251}, "251 rails"),
        ({"rate_bytes_per_s": 5e9}, "a rail at 5e+09 B/s"),
        ({"slow": {Nic(2, 0): Fraction(1, 2)}}, "there is no node 2 rail 0"),
        ({"without": frozenset({Nic(0, 2)})}, "there is no node 0 rail 2"),
        ({"slow": {Nic(1, 1): Fraction(0)}}, "node 1 rail 1 at 0 of the rate"),
        ({"slow": {Nic(1, 1): Fraction(1)}, "without": frozenset({Nic(1, 1)})}, "slow and missing"),
    ],
)
def test_mistakes(changes, complaint):
    """What makes no sense is refused, and the message names it."""
    right = {"name": "a", "nodes": 2, "rails": 2, "rate_bytes_per_s": 1e7}
    with pytest.raises(UsageError) as refused:
        Shape(**{**right, **changes})
    assert complaint in str(refused.value)
