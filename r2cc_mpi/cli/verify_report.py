"""What `r2cc verify` says of a case: in lines for people, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from algorithms import verify
from algorithms.catalogue import Case
from algorithms.depth import StageDepth, longest_chain, stage_depths
from algorithms.nic import Nic
from algorithms.stripes import Stripes
from r2cc_mpi.cli.report_json import JsonObject

MOST_SHOWN = 16
"""Nodes and rails that are listed; JSON has all."""

Load = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Proof:
    """A case that passed the oracle.

    Attributes:
        algorithm: Its name.
        case: What it was written for.
        stripes: What was checked.
        steps: Longest chain of transfers in which each one needs what the one before wrote.
        stages: The same for each stage.
        nodes: Per node (sent, received), in units of the data; what a node relays is not in it.
        nics: The same for each NIC; what a relay passes on counts.
    """

    algorithm: str
    case: Case
    stripes: Stripes
    steps: int
    stages: list[StageDepth]
    nodes: list[Load]
    nics: dict[Nic, Load]

    def slowest(self) -> tuple[Nic, Fraction]:
        """Find the NIC that is busy longest, and for how long, in D/B of a healthy node.

        The fastest NIC of the case counts as healthy: it has B/g.
        """
        healthy = max(rate for of_node in self.case.rates for rate in of_node)

        def time(nic: Nic) -> Fraction:
            rate = Fraction(self.case.rates[nic.node][nic.rail])
            return max(self.nics[nic]) * self.case.rails * healthy / rate if rate else Fraction(0)

        nic = max(self.nics, key=time)
        return nic, time(nic)


def prove(algorithm: str, case: Case, stripes: Stripes) -> Proof:
    """Put a case before the oracle.

    Raises:
        ScheduleError: It is wrong; names the transfer or stripe at fault.
    """
    report = verify.check(stripes.schedule)
    verify.check_stripes(stripes, case.dead())
    return Proof(
        algorithm,
        case,
        stripes,
        longest_chain(stripes.schedule),
        stage_depths(stripes.schedule),
        report.loads,
        stripes.rail_loads(),
    )


def to_lines(proof: Proof) -> list[str]:
    """Write a proof for people."""
    case, stripes = proof.case, proof.stripes
    nic, time = proof.slowest()
    ring = Fraction(2 * (case.nodes - 1), case.nodes)
    lines = [
        f"# r2cc verify {to_line(proof.algorithm, case)}",
        f"# correct: {len(stripes.schedule)} transfers in {len(stripes)} stripes on a grid of {stripes.grid}",
        f"# at most {proof.steps} transfers follow one another",
        f"# busiest: {nic}, {_number(time)} D/B; in a healthy ring {_number(ring)} D/B",
        f"# {'stage':<30}  {'transfers':>9}  {'steps':>5}",
    ]
    lines += [f"  {one.stage:<30}  {one.transfers:>9}  {one.steps:>5}" for one in proof.stages]
    rails = range(min(case.rails, MOST_SHOWN))
    table = [["# node", "data", *(f"rail {rail}" for rail in rails)]]
    for node in range(min(case.nodes, MOST_SHOWN)):
        loads = [proof.nodes[node], *(proof.nics[Nic(node, rail)] for rail in rails)]
        table.append([f"  {node}", *(_load(load) for load in loads)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines.append("# load in units of the data, in each direction (sent|received where they differ)")
    for row in table:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]))
    if max(case.nodes, case.rails) > MOST_SHOWN:
        lines.append(f"# only {MOST_SHOWN} nodes and rails are shown; --json has all")
    return lines


def to_line(algorithm: str, case: Case, proof: Proof | None = None) -> str:
    """Name a case, and say the most important of its proof, in one line."""
    words = [f"{algorithm:<14} {case.nodes} x {case.rails}"]
    dead = case.dead()
    words.append("dead " + ", ".join(f"{nic.node}:{nic.rail}" for nic in dead) if dead else "all rails live")
    if case.order is not None and len(case.order) <= MOST_SHOWN:
        words.append("order " + " ".join(map(str, case.order)))
    words += [
        f"{letter} = {value}"
        for letter, value in (("K", case.pieces), ("Y", case.partial), ("form", case.form))
        if value is not None
    ]
    if case.sub_pieces > 1:
        words.append(f"S = {case.sub_pieces}")
    if proof is not None:
        words.append(f"{len(proof.stripes.schedule)} transfers, {proof.steps} steps")
        words.append(f"busiest NIC {_number(proof.slowest()[1])} D/B")
    return "; ".join(words)


def describe(algorithm: str, case: Case) -> JsonObject:
    """Say what a case is, as what `json.dump` takes; fractions are text."""
    return {
        "algorithm": algorithm,
        "layout": {"nodes": case.nodes, "rails": case.rails},
        "dead": [f"{nic.node}:{nic.rail}" for nic in case.dead()],
        "order": None if case.order is None else list(case.order),
        "pieces": case.pieces,
        "partial": None if case.partial is None else str(case.partial),
        "form": case.form,
        "sub_pieces": case.sub_pieces,
    }


def to_json(proof: Proof) -> JsonObject:
    """Turn a proof into what `json.dump` takes; fractions, which are exact, are text."""
    nic, time = proof.slowest()
    return {
        **describe(proof.algorithm, proof.case),
        "correct": True,
        "transfers": len(proof.stripes.schedule),
        "stripes": len(proof.stripes),
        "grid": proof.stripes.grid,
        "steps": proof.steps,
        "stages": [one._asdict() for one in proof.stages],
        "busiest": {"nic": f"{nic.node}:{nic.rail}", "time": str(time)},
        "loads": [
            {
                "node": node,
                "sent": str(sent),
                "received": str(received),
                "rails": [
                    {"sent": str(out), "received": str(into)}
                    for out, into in (proof.nics[Nic(node, rail)] for rail in range(proof.case.rails))
                ],
            }
            for node, (sent, received) in enumerate(proof.nodes)
        ],
    }


def _load(load: Load) -> str:
    sent, received = load
    return str(sent) if sent == received else f"{sent}|{received}"


def _number(value: Fraction) -> str:
    return f"{value} = {float(value):.4g}" if value.denominator > 1 else str(value)
