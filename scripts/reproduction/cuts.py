"""A campaign of random runs of `r2cc run` on networks whose links are cut from outside at random instants.

Each run has a seed, from which all follows but the machine's timing, and a line in a log, from which an
interrupted campaign goes on.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from algorithms.nic import Nic
from analysis import cost_model
from analysis.rail_rates import RailRates
from r2cc_mpi.errors import TimeLimitError
from scripts.network import build
from scripts.network.job import Job, Mpi
from scripts.network.kernel import inhabitants
from scripts.network.links import How
from scripts.network.testbed import Testbed

LINK_BYTES_PER_S = 12.5e6
LIMIT_S = 120.0
"""After so many seconds a run counts as hung; the slowest that are drawn take a third."""
LOOK_S = 0.002
"""Between two looks at a NIC's counter: less than a chunk takes."""
STRATEGIES = ("auto", "hot-repair", "balance", "r2cc-allreduce", "optcc")
BAD = {None: "hung", 1: "refused", 2: "wrong", 4: "gave up"}
FINE = ("passed", "missed", "cut off")


@dataclass(frozen=True)
class Cut:
    """A cut.

    Attributes:
        nic: Whose link.
        how: How.
        at_s: Seconds after the first cut of the run.
        outage_s: Until it is healed; None: never.
    """

    nic: Nic
    how: How
    at_s: float
    outage_s: float | None

    def __str__(self) -> str:
        healed = "" if self.outage_s is None else f", healed {self.outage_s:.2f} s later"
        later = f" {self.at_s:.2f} s later" if self.at_s else ""
        return f"{self.nic.node}:{self.nic.rail} {self.how.value}{later}{healed}"


@dataclass(frozen=True)
class CutRun:
    """One run.

    Attributes:
        seed: What it follows from.
        nodes: Nodes.
        rails: Rails of a node.
        mpi: Whose MPI.
        words: The words behind `r2cc run`.
        begin_bytes: How many bytes the NIC of the first cut has sent when that comes.
        cuts: What happens meanwhile.
    """

    seed: int
    nodes: int
    rails: int
    mpi: Mpi
    words: tuple[str, ...]
    begin_bytes: int
    cuts: tuple[Cut, ...]

    def __str__(self) -> str:
        what = f"{self.nodes} x {self.rails} {self.mpi.value} {' '.join(self.words)}"
        return f"{what}; after {self.begin_bytes / 1e6:.2f} MB {'; '.join(map(str, self.cuts))}"

    @property
    def may_cut_off(self) -> bool:
        """Whether nodes lose each other if none of the cuts is healed in time."""
        dead = [cut.nic for cut in self.cuts]
        return len(RailRates.of(self.nodes, self.rails, dead=dead).groups()) > 1

    def may_be_blamed(self, nic: Nic) -> bool:
        """Say whether a NIC may be taken for dead.

        It may if it is cut; also on the rail of a black hole where fewer than two healthy NICs are left, for
        then nobody can tell which end is to blame.
        """
        dead = {cut.nic for cut in self.cuts}
        silent = any(cut.how is How.BLACK_HOLE and cut.nic.rail == nic.rail for cut in self.cuts)
        healthy = [node for node in range(self.nodes) if Nic(node, nic.rail) not in dead]
        return nic in dead or (silent and len(healthy) < 2)

    def is_other_end(self, nic: Nic) -> bool:
        """Say whether a NIC is on the rail of a black hole that was healed.

        Its TCP connections come back one by one. Until the last one is back there is a dead link between two
        healthy NICs, of which one is blamed; which one, nothing says (docs/protocol.md, rule 11).
        """
        holes = [cut for cut in self.cuts if cut.how is How.BLACK_HOLE and cut.outage_s is not None]
        return any(cut.nic.rail == nic.rail for cut in holes)


def draw(seed: int, mpis: tuple[Mpi, ...]) -> CutRun:
    """Draw the run of a seed.

    The first cut comes at a random byte of all that its NIC sends while nothing is amiss, so that it hits an
    iteration however fast the machine is; for the same reason no iteration is a warm-up. A second cut comes
    some time after it.
    """
    dice = random.Random(seed)
    nodes, rails = dice.randint(2, 3), dice.randint(2, 3)
    iterations, size = dice.randint(4, 8), 4 * dice.randint(2**18, 2**21)
    nics = [Nic(node, rail) for node in range(nodes) for rail in range(rails)]
    sent_bytes = float(iterations * cost_model.ring(nodes) * size / rails)
    chosen = dice.sample(nics, dice.choice([1, 1, 1, 2]))
    cuts = tuple(
        Cut(
            nic,
            dice.choice(list(How)),
            dice.uniform(0, sent_bytes / LINK_BYTES_PER_S) if nic is not chosen[0] else 0.0,
            dice.uniform(0.2, 4.0) if dice.random() < 0.5 else None,
        )
        for nic in chosen
    )
    words = ["allreduce", "-b", str(size), "-n", str(iterations), "-w", "0", "--iteration-table"]
    words += ["--strategy", dice.choice(STRATEGIES)]
    return CutRun(seed, nodes, rails, dice.choice(mpis), tuple(words), int(dice.uniform(0, sent_bytes)), cuts)


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        status: Its exit status; None if it had to be killed.
        seconds: How long it took.
        report: Its JSON report, under the key `r2cc`; None if there is none.
        left: What it left behind, in words.
        said: What it printed.
    """

    status: int | None
    seconds: float
    report: dict[str, Any] | None
    left: tuple[str, ...]
    said: str


def carry_out(run: CutRun) -> Ended:
    """Make one run on a network of its own."""
    began_at = time.monotonic()
    name = f"cuts{run.seed}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        with Testbed.build(
            nodes=run.nodes, rails=run.rails, rate_bytes_per_s=LINK_BYTES_PER_S, name=name
        ) as bed:
            words = [*run.words, "--json", str(file)]
            with bed.start(words, mpi=run.mpi, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as job:
                status, said = _follow(bed, job, run)
            left = [f"process {pid} in {part}" for part in build.parts_of(name) for pid in inhabitants(part)]
        left += build.parts_of(name)
        report = json.loads(file.read_text(encoding="utf-8"))["r2cc"] if file.exists() else None
    return Ended(status, time.monotonic() - began_at, report, tuple(left), said)


def _follow(bed: Testbed, job: Job, run: CutRun) -> tuple[int | None, str]:
    """Cut and heal when all ranks are connected and the first NIC has sent enough; return how it ended."""
    lines: list[str] = []
    has_begun = threading.Event()
    reader = threading.Thread(target=_read, args=(job, lines, has_begun), daemon=True)
    reader.start()
    deadline = time.monotonic() + LIMIT_S
    has_begun.wait(LIMIT_S)
    first = run.cuts[0].nic
    enough = bed.link(first).tx_bytes + run.begin_bytes
    while bed.link(first).tx_bytes < enough and job.process.poll() is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    began_at = time.monotonic()
    for at_s, act in _steps(bed, run.cuts):
        while time.monotonic() < began_at + at_s and job.process.poll() is None:
            time.sleep(LOOK_S)
        if job.process.poll() is None:
            act()
    try:
        status: int | None = job.wait(max(deadline - time.monotonic(), 0.1))
    except TimeLimitError:
        status = None
    reader.join()
    return status, "".join(lines)


def _read(job: Job, lines: list[str], has_begun: threading.Event) -> None:
    assert job.process.stdout is not None
    with job.process.stdout as output:
        for line in output:
            lines.append(line)
            if line.startswith("#"):
                has_begun.set()
    has_begun.set()  # it ended without a word


def _steps(bed: Testbed, cuts: tuple[Cut, ...]) -> list[tuple[float, Callable[[], object]]]:
    steps: list[tuple[float, Callable[[], object]]] = []
    for cut in cuts:
        steps.append((cut.at_s, partial(bed.cut, cut.nic, cut.how)))
        if cut.outage_s is not None:
            steps.append((cut.at_s + cut.outage_s, partial(bed.heal, cut.nic)))
    return sorted(steps, key=lambda one: one[0])


def verdict(run: CutRun, ended: Ended) -> str:
    """Say in a word how a run ended.

    Returns:
        `passed`; `missed` if the cut hit no iteration; `cut off` if nodes lost each other as they could;
        Anything else is bad, also `other end`: the other end of a black hole that was healed was held for
        dead, too or instead.
    """
    if ended.left:
        return f"left {', '.join(ended.left)}"
    if ended.status == 4 and run.may_cut_off:
        return "cut off"
    if ended.status != 0 or ended.report is None:
        return BAD.get(ended.status, f"status {ended.status}")
    return _judge(run, ended.report["iterations"])


def _judge(run: CutRun, iterations: list[dict[str, Any]]) -> str:
    blamed = {Nic(one["node"], one["rail"]) for iteration in iterations for one in iteration["failovers"]}
    others = {nic for nic in blamed if not run.may_be_blamed(nic)}
    innocent = sorted(str(nic) for nic in others if not run.is_other_end(nic))
    if any(one["wrong"] != 0 for one in iterations):
        return "wrong"
    if innocent:
        return f"blamed {', '.join(innocent)}"
    if others:
        return "other end"
    return "passed" if blamed else "missed"
