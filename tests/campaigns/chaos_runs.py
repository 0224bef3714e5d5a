"""Chaos: runs of `r2cc run` in which rails die, slow down and come back at random; what may come of them."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass

from algorithms.catalogue import OPTCC_FORMS
from algorithms.hot_repair import find_route
from algorithms.nic import Nic
from algorithms.r2cc_allreduce import FORMS
from r2cc_mpi.layout import Layout
from r2cc_mpi.strategy import Strategy

MOST_NODES = MOST_RAILS = 4
MOST_RANKS = 16
ITERATION_S = 0.02
"""About how long an iteration takes besides what its bytes take on the rails."""
CUTS_KEPT = 0.1
"""Share of the drawn runs that could cut a node off which is kept; each of them waits for timeouts."""
FINE = {0: "passed", 3: "missed"}
"""Verdicts that are no reason to worry, by exit status; there are two more, which depend on the run."""


@dataclass(frozen=True)
class ChaosRun:
    """One run.

    Attributes:
        seed: What it follows from.
        layout: Nodes and rails.
        words: The words behind `r2cc run allreduce`.
        mortal: NICs that are to die at some time.
        silent: Whether nothing reports their deaths.
        strategy: What `--strategy` says.
    """

    seed: int
    layout: Layout
    words: tuple[str, ...]
    mortal: frozenset[Nic]
    silent: bool
    strategy: Strategy = Strategy.AUTO

    @property
    def command(self) -> str:
        """What repeats it; its faults are fixed, its timing is the machine's."""
        return f"r2cc run allreduce {' '.join(self.words)}"

    @property
    def may_cut(self) -> bool:
        """Whether some nodes could lose each other if all the deaths came together."""
        nodes, rails = self.layout.nodes, self.layout.rails
        return any(
            find_route(0, node, 0, nodes=nodes, rails=rails, usable=lambda nic: nic not in self.mortal)
            is None
            for node in range(1, nodes)
        )

    def may_be_blamed(self, nic: Nic) -> bool:
        """Say whether a NIC may be taken for dead.

        It may if it is to die; also if nothing reports deaths and fewer than two healthy NICs are left on its
        rail, for then nobody can tell which end of a connection is to blame.
        """
        healthy = [Nic(node, nic.rail) for node in range(self.layout.nodes)]
        healthy = [one for one in healthy if one not in self.mortal]
        return nic in self.mortal or (self.silent and len(healthy) < 2)


def draw(seed: int) -> ChaosRun:
    """Draw the run of a seed."""
    dice = random.Random(seed)
    while True:
        run = _draw(seed, dice)
        if not run.may_cut or dice.random() < CUTS_KEPT:
            return run


def _draw(seed: int, dice: random.Random) -> ChaosRun:
    nodes, rails = dice.randint(2, MOST_NODES), dice.randint(1, MOST_RAILS)
    more = dice.randint(1, 2) if dice.random() < 0.25 else 0
    layout = Layout(nodes, rails, rails + more if nodes * (rails + more) <= MOST_RANKS else rails)
    iterations, size = dice.randint(2, 6), _size(dice)
    rate = dice.choice([20, 50, 100]) if dice.random() < 0.8 else None
    # In a healthy ring a rail carries less than twice its share of the data each way.
    seconds = iterations * (ITERATION_S + (2 * size / (rails * rate * 1e6) if rate else 0))
    strategy = dice.choice(list(Strategy))
    words = ["--nodes", str(nodes), "--rails", str(rails)]
    words += ["--ranks-per-node", str(layout.ranks_per_node)] * (layout.ranks_per_node > rails)
    words += ["--strategy", strategy.label, *_form(dice, strategy)]
    words += ["-b", str(size), "-n", str(iterations), "-w", dice.choice("01")]
    words += ["-d", dice.choice(["float", "double", "int32", "int64"])]
    nics = list(layout)
    mortal = sorted(dice.sample(nics, min(len(nics), dice.choice([0, 1, 1, 2, 2, 3, 4]))))
    for nic in mortal:
        # At most one is dead from the start: a node that has no rail then is refused.
        declared = 0.2 if nic == mortal[0] and rails > 1 else 0
        if dice.random() < 0.25:
            words += _timed_life(dice, nic, seconds)
        else:
            words += _life(dice, nic, iterations, declared=declared)
    if rate is not None:
        words += ["--rail-rate", f"{rate}MB/s"]
        for nic in dice.sample(nics, min(len(nics), dice.choice([0, 0, 0, 1, 2]))):
            factor = dice.choice(["0.1", "0.3", "0.5", "2/3"])
            words += ["--slow", f"{nic.node}:{nic.rail}={factor}{_when(dice, 1, iterations, declared=0.3)}"]
    silent = bool(mortal) and dice.random() < 0.3
    words += ["--silent"] * silent + ["--late"] * (bool(mortal) and dice.random() < 0.3)
    return ChaosRun(seed, layout, tuple(words), frozenset(mortal), silent, strategy)


def draw_optcc(seed: int) -> ChaosRun:
    """Draw a run in which a rail dies while OptCC works around others that were dead from the start."""
    dice = random.Random(seed)
    while True:
        run = _draw_optcc(seed, dice)
        if not run.may_cut:
            return run


def _draw_optcc(seed: int, dice: random.Random) -> ChaosRun:
    layout = Layout(*dice.choice([(3, 3), (4, 2)]))
    strategy = dice.choice([Strategy.OPTCC, Strategy.OPTCC, Strategy.NESTED_OPTCC])
    words = ["--nodes", str(layout.nodes), "--rails", str(layout.rails), "--strategy", strategy.label]
    words += ["--form", dice.choice(OPTCC_FORMS)] * (strategy is Strategy.OPTCC)
    words += ["--pieces", dice.choice(["2", "4", "8", "16"]), "--rail-rate", "50MB/s"]
    words += ["-b", str(8 * dice.randint(2**15, 2**18)), "-n", "2", "-w", "0"]
    # Of several degraded nodes the live rails must nest, so it is the same rail that they lack.
    lost_rail = dice.randrange(layout.rails)
    degraded = dice.sample(range(layout.nodes), 1 if strategy is Strategy.OPTCC else 2)
    lost = [Nic(node, lost_rail) for node in degraded]
    victim = dice.choice([nic for nic in layout if nic not in lost])
    for nic, when in (*((nic, "") for nic in lost), (victim, f"@iter=1,{dice.randint(1, 95)}%")):
        words += ["--fail", f"{nic.node}:{nic.rail}{when}"]
    silent = dice.random() < 0.2
    words += ["--silent"] * silent + ["--late"] * (dice.random() < 0.2)
    return ChaosRun(seed, layout, tuple(words), frozenset([*lost, victim]), silent, strategy)


def _form(dice: random.Random, strategy: Strategy) -> list[str]:
    """Draw one of a strategy's forms, where it has some, or leave the choice to it."""
    forms = {Strategy.OPTCC: OPTCC_FORMS, Strategy.R2CC_ALLREDUCE: FORMS}.get(strategy)
    return ["--form", dice.choice(forms)] if forms and dice.random() < 0.5 else []


def _size(dice: random.Random) -> int:
    """Draw bytes that are a multiple of 8: mostly some hundreds of KB, now and then a few bytes."""
    return 8 * int(2 ** (dice.uniform(15, 19) if dice.random() < 0.9 else dice.uniform(0, 12)))


def _life(dice: random.Random, nic: Nic, iterations: int, *, declared: float) -> list[str]:
    """Draw the death of a NIC, and perhaps its return, and perhaps its second death."""
    place = f"{nic.node}:{nic.rail}"
    dies_in = dice.randint(1, iterations)
    words = ["--fail", place + _when(dice, dies_in, dies_in, declared=declared)]
    if dies_in < iterations and dice.random() < 0.5:
        returns_in = dice.randint(dies_in + 1, iterations)
        # A dead rail sends no chunks that could be counted; its share of bytes counts what landed elsewhere.
        words += ["--recover", f"{place}@iter={returns_in},{dice.randint(0, 99)}%"]
        if returns_in < iterations and dice.random() < 0.3:
            words += ["--fail", place + _when(dice, returns_in + 1, iterations)]
    return words


def _timed_life(dice: random.Random, nic: Nic, seconds: float) -> list[str]:
    """Draw the same by the clock, within so many seconds."""
    place = f"{nic.node}:{nic.rail}"
    moments = sorted(dice.uniform(0, seconds) for _ in range(dice.choice([1, 1, 2, 3])))
    events = zip(("--fail", "--recover", "--fail"), moments, strict=False)
    return [word for option, at in events for word in (option, f"{place}@{at:.9f}s")]


def _when(dice: random.Random, first: int, last: int, *, declared: float = 0) -> str:
    """Draw a moment in one of some iterations, or (with probability `declared`) none."""
    if dice.random() < declared:
        return ""
    iteration = dice.randint(first, last)
    if dice.random() < 0.2:
        return f"@iter={iteration},chunk={dice.randint(1, 2)}"
    return f"@iter={iteration},{dice.randint(0, 99)}%"


def verdict(run: ChaosRun, status: int | None, blamed: Collection[Nic]) -> str:
    """Say in a word how a run ended.

    Args:
        run: The run.
        status: Its exit status; None if it had to be killed.
        blamed: NICs whose failures it reported.

    Returns:
        `passed`; `missed` if a fault hit nothing; `cut` if nodes were cut off as they could be; `stopped` if
        the strategy was the one that stops at a dead rail. Anything else is bad: `wrong`, `hung`, `gave up`,
        `refused`, `blamed ...`, `crashed`.
    """
    if status is None:
        return "hung"
    if status in FINE:
        innocent = sorted(nic for nic in set(blamed) if not run.may_be_blamed(nic))
        return f"blamed {', '.join(map(str, innocent))}" if innocent else FINE[status]
    if status == 4 and run.strategy is Strategy.RING and run.mortal:
        return "stopped"
    if status == 4:
        return "cut" if run.may_cut else "gave up"
    return {1: "refused", 2: "wrong"}.get(status, "crashed")


def is_fine(word: str) -> bool:
    """Say whether a verdict is no reason to worry."""
    return word in {*FINE.values(), "cut", "stopped"}
