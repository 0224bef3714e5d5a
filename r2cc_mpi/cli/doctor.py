"""`r2cc doctor`: can reference runs work here, and what is missing?"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from r2cc_mpi import pinning
from r2cc_mpi.cli.launch import job_environment
from r2cc_mpi.cli.report_json import JsonObject, write_json
from r2cc_mpi.cli.units import parse_size
from r2cc_mpi.cli.values import convert, whole_number
from r2cc_mpi.doctor import machine, mpi, mpi_findings, network, packages
from r2cc_mpi.doctor.findings import Finding, problems, verdict
from r2cc_mpi.errors import UsageError
from r2cc_mpi.layout import Layout

Section = tuple[str, Sequence[Finding]]


def run(words: Namespace) -> int:
    """Examine the machine and print what was found.

    Args:
        words: What the parser found.

    Returns:
        0 if a reference run can work here, 1 if not.

    Raises:
        UsageError: An option is wrong, or this process is a rank of a job.
    """
    nodes, rails = (whole_number(f"--{name}", getattr(words, name), least=1) for name in ("nodes", "rails"))
    size = convert("-b", words.minbytes, parse_size)
    if pinning.find_place(os.environ) is not None:
        raise UsageError("r2cc doctor starts jobs itself: run it outside of mpiexec, mpirun or srun")
    sections = examine(Layout(nodes, rails), size)
    findings = [finding for _, some in sections for finding in some]
    stream = sys.stderr if words.json == "-" else sys.stdout
    print("\n".join(to_lines(sections)), file=stream)
    if words.json is not None:
        write_json(to_json(findings), words.json)
    return exit_code(findings)


def examine(layout: Layout, size_bytes: int) -> list[Section]:
    """Look at everything, and judge it.

    Args:
        layout: Nodes and rails of a job that should fit.
        size_bytes: Its array, for each rank.
    """
    environment = job_environment(os.environ, Path.cwd())
    return [
        ("machine", machine.judge(machine.look(), layout, size_bytes)),
        ("MPI", mpi_findings.judge(mpi.look(os.environ))),
        ("packages", packages.judge(packages.look(environment))),
        ("network", network.judge(network.look())),
    ]


def exit_code(findings: Sequence[Finding]) -> int:
    """Give the exit status that findings stand for."""
    return 1 if problems(findings) else 0


def to_lines(sections: Sequence[Section]) -> list[str]:
    """Write findings for people; a remedy is on a line of its own."""
    lines = ["# r2cc doctor"]
    for title, findings in sections:
        lines += ["#", f"# {title}"]
        for one in findings:
            lines.append(f"  {one.status.value:<8}  {one.name:<13}  {one.text}")
            lines += [f"  {'':<8}  {'':<13}  -> {one.remedy}"] if one.remedy else []
    findings = [finding for _, some in sections for finding in some]
    status = f" (exit {code})" if (code := exit_code(findings)) else ""
    return [*lines, "#", f"# verdict: {verdict(findings)}{status}"]


def to_json(findings: Sequence[Finding]) -> JsonObject:
    """Turn findings into what `json.dump` takes: one key, `doctor`."""
    return {
        "doctor": {
            "verdict": verdict(findings),
            "exit_code": exit_code(findings),
            "findings": [
                {"name": one.name, "status": one.status.value.lower(), "text": one.text, "remedy": one.remedy}
                for one in findings
            ],
        }
    }
