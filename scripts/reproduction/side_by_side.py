"""Our ring over all rails beside Open MPI's own Allreduce with all rails given to it; nothing fails.

A process of ours is tied to one rail, and one of Open MPI's has all of them, so one job cannot hold both. The
jobs take turns on one network, ours, theirs, ours, theirs, and each side's median is over all its turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from algorithms.nic import Nic
from analysis.reports.report import Column, Form, Report, Row
from r2cc_mpi.errors import IncompleteCollectiveError, TimeLimitError
from scripts.network.job import Mpi
from scripts.network.testbed import Testbed
from scripts.reproduction.experiments import ITERATION_S, START_S, verdict
from scripts.reproduction.session import LAST_LINES, run_task
from scripts.reproduction.setting import Setting
from scripts.reproduction.task import Stage

OURS, THEIRS = "our ring", "Open MPI's Allreduce"


@dataclass(frozen=True)
class Turn:
    """One job.

    Attributes:
        who: OURS or THEIRS.
        times_s: Seconds of each call, of the slowest rank.
        wrong: Wrong elements on all ranks.
        carried: What each link has sent, by the kernel's counters.
    """

    who: str
    times_s: tuple[float, ...]
    wrong: int
    carried: Mapping[Nic, int]


def run(setting: Setting, iterations: int, turns: int) -> list[Turn]:
    """Let both take turns on one network.

    Raises:
        IncompleteCollectiveError: A job failed.
    """
    limit_s = START_S + (iterations + 1) * (4 * setting.healthy_s + ITERATION_S)
    done = []
    with setting.build() as bed:
        for _ in range(turns):
            done.append(_ours(bed, setting, iterations, limit_s))
            done.append(_theirs(bed, setting, iterations, limit_s))
    return done


def _ours(bed: Testbed, setting: Setting, iterations: int, limit_s: float) -> Turn:
    before = _sent(bed)
    task = setting.task([Stage("warm-up", 1), Stage("ring", iterations)])
    outcome = run_task(bed, task, Mpi.OPEN_MPI, [], limit_s)
    if outcome.failure or outcome.record is None:
        raise IncompleteCollectiveError(f"{OURS}: {outcome.failure}")
    times = tuple(one.ended_at - one.began_at for one in outcome.record.of("ring"))
    wrong = sum(one.wrong for one in outcome.record.iterations)
    return Turn(OURS, times, wrong, _since(bed, before))


def _theirs(bed: Testbed, setting: Setting, iterations: int, limit_s: float) -> Turn:
    before = _sent(bed)
    rails = ",".join(f"rail{rail}" for rail in range(setting.rails))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        words = [str(setting.size_bytes // 4), str(iterations), str(output)]
        settings = [f"OMPI_MCA_btl_tcp_if_include={rails}", "OMPI_MCA_mpi_yield_when_idle=1"]
        program = ["env", *settings, sys.executable, "-m", "scripts.reproduction.library_ranks", *words]
        said = Path(folder) / "said.txt"
        with (
            said.open("w", encoding="utf-8") as file,
            bed.start_program(program, mpi=Mpi.OPEN_MPI, stdout=file, stderr=subprocess.STDOUT) as job,
        ):
            try:
                status: int | None = job.wait(limit_s)
            except TimeLimitError:
                status = None
        if status != 0:
            lines = "\n".join(said.read_text(encoding="utf-8").splitlines()[-LAST_LINES:])
            raise IncompleteCollectiveError(f"Open MPI's job ended with status {status}: {lines}")
        found = json.loads(output.read_text(encoding="utf-8"))
    return Turn(THEIRS, tuple(found["times_s"]), found["wrong"], _since(bed, before))


def _sent(bed: Testbed) -> dict[Nic, int]:
    return {link.nic: link.tx_bytes for link in bed.links()}


def _since(bed: Testbed, before: Mapping[Nic, int]) -> dict[Nic, int]:
    return {nic: sent - before[nic] for nic, sent in _sent(bed).items()}


NOTE = (
    "time: a whole call of the slowest rank, with the additions. Theirs: btl_tcp_if_include names all rails, "
    "mpi_yield_when_idle is 1, the rest is the default. A node sent: with all headers, the start and the end "
    "of the job included."
)
COLUMNS = (
    Column("who", "who", form=Form.TEXT),
    Column("calls", "calls", form=Form.WHOLE),
    Column("time_s", "median", "s"),
    Column("least_s", "fastest", "s"),
    Column("most_s", "slowest", "s"),
    Column("algbw", "algbw", "MB/s", digits=2),
    Column("ratio", "over ours"),
    Column("node_bytes", "a node sent, a call", "MB", digits=2),
    Column("balance", "busiest over idlest link", digits=2),
    Column("wrong", "#wrong", form=Form.WHOLE),
)


def report(setting: Setting, iterations: int, turns: list[Turn]) -> Report:
    """Make the table: a row for each side."""
    base_s = median(time for turn in turns if turn.who == OURS for time in turn.times_s)
    rows = [_row(setting, iterations, who, turns, base_s) for who in (OURS, THEIRS)]
    wrong, ranks = sum(turn.wrong for turn in turns), setting.nodes * setting.rails
    found = [f"{wrong} wrong elements"] * bool(wrong)
    return Report(
        name="side-by-side",
        title=f"Healthy, {setting}: both under Open MPI, {len(turns)} jobs in turn",
        source="measured here",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            NOTE,
            f"Open MPI's ring goes through all {ranks} ranks and has no stage inside the node.",
            *verdict(found),
        ),
        ok=not found,
    )


def _row(setting: Setting, iterations: int, who: str, turns: list[Turn], base_s: float) -> Row:
    mine = [turn for turn in turns if turn.who == who]
    times = [time for turn in mine for time in turn.times_s]
    sent = [sum(turn.carried[nic] for turn in mine) for nic in mine[0].carried]
    calls = len(mine) * (iterations + 1)
    return (
        who,
        len(times),
        median(times),
        min(times),
        max(times),
        setting.size_bytes / median(times) / 1e6,
        median(times) / base_s,
        sum(sent) / setting.nodes / calls / 1e6,
        max(sent) / max(min(sent), 1),
        sum(turn.wrong for turn in mine),
    )
