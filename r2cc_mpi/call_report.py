"""What one collective did at one rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from algorithms.nic import Nic
from r2cc_mpi.protocol.hot_repair import Failover


class CallReport(NamedTuple):
    """A collective at this rank.

    Attributes:
        number: Number of the collective, from 1.
        strategy: Name of the strategy in force when it ended.
        excluded: NICs that were not used any more, or not yet again, when it ended.
        time_s: Seconds from the call to its result.
        start_s: Seconds from the call until this rank knew its START and had its plan.
        network_s: Seconds from then to this rank's last operation. The rest of ``time_s`` is waiting for the
            node's other ranks and copying the result out.
        failovers: Channels of this rank that were repaired meanwhile.
        resent_bytes: Payload that this rank's channels sent more than once meanwhile, bytes.
        health_versions: Health version of each NIC that START announced, under which all ranks planned; even
            means up. What failed later is in ``excluded``.
        pieces: K of the plan, pieces of a second stage; None where there is none.
    """

    number: int
    strategy: str
    excluded: tuple[Nic, ...]
    time_s: float
    start_s: float
    network_s: float
    failovers: tuple[Failover, ...]
    resent_bytes: int
    health_versions: Mapping[Nic, int]
    pieces: int | None = None
