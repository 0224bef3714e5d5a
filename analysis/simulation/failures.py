"""NICs that die, slow down or come back while collectives run.

What happens to a running collective is HotRepair (`analysis.simulation.repair`); the next collective is
planned anew for the NICs that are up then. Times here are in D/B and count from the beginning of the first
collective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from algorithms.nic import Nic
from algorithms.stripes import Stripes
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.simulation.repair import Repair, with_rate
from analysis.simulation.rules import PortRule, Rules
from analysis.simulation.timeline import Timeline


@dataclass(frozen=True)
class Change:
    """From a certain time on a NIC runs at another rate.

    Attributes:
        time: When.
        nic: Which one.
        factor: Fraction of a healthy NIC's rate: 0, it dies; 1, it is well again.
        unnoticed: How long nobody knows that it died; 0 if it says so itself.
    """

    time: Fraction
    nic: Nic
    factor: Fraction = Fraction(0)
    unnoticed: Fraction = Fraction(0)

    @property
    def noticed(self) -> Fraction:
        """When everybody knows."""
        return self.time + self.unnoticed


def simulate_failures(
    stripes: Stripes, rates: RailRates, changes: Iterable[Change], rules: Rules, begin: Fraction = Fraction(0)
) -> Timeline:
    """Play one collective while NICs change.

    Args:
        stripes: The schedule, mapped to rails for the rates at its beginning.
        rates: What every NIC can carry at the beginning, as far as everybody knows.
        changes: What happens. Whatever was noticed before the beginning must be in `rates` already, and what
            comes after the end does not matter.
        rules: See `Rules`; any rule for ports but FAIR.
        begin: When the collective begins.

    Returns:
        What happened; its times count from the beginning of the collective.

    Raises:
        ModelError: A change is impossible, or ports are to be shared.
        ScheduleError: As `simulate`; or the failures cut some nodes off, naming the groups.
    """
    if rules.port is PortRule.FAIR:
        raise ModelError("ports are shared: failures on the way need a rule that serves one stripe at a time")
    happening: list[tuple[Fraction, bool, Change]] = []
    for change in _in_order(changes, rates):
        since, noticed = max(change.time - begin, Fraction(0)), change.noticed - begin
        if noticed >= 0:
            here = replace(change, time=since, unnoticed=noticed - since)
            happening += [(since, False, here)] + ([(noticed, True, here)] if here.unnoticed else [])
    happening.sort(key=lambda event: event[0])
    instants = [time for time, _, _ in happening]
    changed = [change.factor / rates.rails for _, _, change in happening]
    repair = Repair(stripes, rates, rules, instants, changed)
    for time, is_noticed, change in happening:
        repair.advance(time)
        if change.factor:
            repair.change_rate(change.nic, change.factor / rates.rails)
        elif is_noticed or not change.unnoticed:
            repair.reroute(change.nic)
        else:
            repair.die(change.nic)
    return repair.finish()


def simulate_sequence(
    plan: Callable[[RailRates], Stripes],
    rates: RailRates,
    changes: Iterable[Change],
    count: int,
    rules: Rules,
) -> list[Timeline]:
    """Play collectives one after another, each planned anew for what is known to be up when it begins.

    Args:
        plan: Maps the schedule of the next collective to rails, given what every NIC can carry.
        rates: What every NIC can carry at the beginning.
        changes: What happens.
        count: Number of collectives.
        rules: As in `simulate_failures`.

    Returns:
        A timeline for each collective; its times count from its own beginning.

    Raises:
        ModelError: As `simulate_failures`.
        ScheduleError: As `simulate_failures`.
    """
    happening = _in_order(changes, rates)
    timelines: list[Timeline] = []
    now = Fraction(0)
    for _ in range(count):
        known = rates
        for change in happening:
            if change.noticed < now:
                known = with_rate(known, change.nic, change.factor / rates.rails)
        timelines.append(simulate_failures(plan(known), known, happening, rules, begin=now))
        now += timelines[-1].completion
    return timelines


def _in_order(changes: Iterable[Change], rates: RailRates) -> list[Change]:
    ordered = sorted(changes, key=lambda change: change.time)
    for one in ordered:
        if not (0 <= one.nic.node < rates.nodes and 0 <= one.nic.rail < rates.rails):
            raise ModelError(f"there is no {one.nic} among {rates.nodes} nodes with {rates.rails} rails")
        if one.time < 0 or one.unnoticed < 0 or not 0 <= one.factor <= 1 or (one.factor and one.unnoticed):
            raise ModelError(
                f"{one.nic} at {one.time}: give times of 0 or more, a factor from 0 to 1, and `unnoticed` "
                "only for a NIC that dies"
            )
    return ordered
