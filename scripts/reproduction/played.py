"""What our executor makes of a plan, chunk by chunk, if links carry their rate and nothing else takes time.

The closed forms let a piece go on when it is complete. Ranks send chunks, and a chunk goes on by itself, so
with few pieces they are faster than the forms; and where several nodes send to one, they queue. Played are
the very chunks that the ranks send, by `analysis.simulation.executor`: nothing measured goes in.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

import numpy as np

from algorithms.columns import element
from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.stripes import Stripes
from analysis.rail_rates import RailRates
from analysis.simulation.chunks import chunked
from analysis.simulation.executor import executed_time
from r2cc_mpi.planning import Wishes, choose
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.strategy import Strategy
from scripts.reproduction.setting import Setting

ELEMENT_BYTES = 4


def played_s(
    setting: Setting,
    strategy: str,
    pieces: int | None = None,
    form: str | None = None,
    *,
    dead: Collection[Nic] = (),
) -> float:
    """Play a plan.

    Args:
        setting: Network and size.
        strategy: What is planned; `hot-repair`: the healthy plan after the deaths.
        pieces: K.
        form: Of the strategy.
        dead: NICs that are down.

    Returns:
        Seconds between nodes.
    """
    wishes = Wishes(
        Strategy.parse(strategy), pieces, form=form, rail_bytes_per_s=Fraction(setting.rail_bytes_per_s)
    )
    stripes = choose(setting.nodes, setting.rails, wishes, tuple(sorted(dead)), setting.size_bytes).stripes
    if strategy == "hot-repair":
        stripes = hot_repair_mapping(stripes.schedule, setting.rails, dead)
    count = setting.size_bytes // ELEMENT_BYTES
    settings = Settings.for_rate(setting.rail_bytes_per_s)
    chunk = Fraction(settings.chunk_bytes // ELEMENT_BYTES, count)
    rates = RailRates.of(setting.nodes, setting.rails, dead)
    return setting.seconds(executed_time(chunked(in_elements(stripes, count), chunk), rates, settings.window))


def in_elements(stripes: Stripes, count: int) -> Stripes:
    """Put the boundaries of stripes on the elements of an array, rounded as `r2cc_mpi.plan` does.

    Args:
        stripes: Any.
        count: Elements of the array.
    """

    def lowered(
        boundary: np.ndarray[tuple[int], np.dtype[np.int32]],
    ) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return element(boundary, count, stripes.grid).astype(np.int32)

    return replace(
        stripes,
        grid=count,
        source_lo=lowered(stripes.source_lo),
        source_hi=lowered(stripes.source_hi),
        target_lo=lowered(stripes.target_lo),
        target_hi=lowered(stripes.target_hi),
    )
