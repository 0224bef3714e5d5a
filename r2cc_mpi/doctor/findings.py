"""What the doctor has to say: findings, and the verdict that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a finding bears on a reference run; the value is the word that is printed."""

    OK = "ok"
    NOTE = "note"
    """Works, but there is something to know."""
    MISSING = "missing"
    """Not there, and reference runs do without it."""
    PROBLEM = "PROBLEM"
    """No reference run works here before it is solved."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What, in a word or two.
        status: How it is.
        text: What was seen, in one line.
        remedy: What to do about it; empty if nothing.
    """

    name: str
    status: Status
    text: str
    remedy: str = ""


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """List the findings that stand in the way of a reference run."""
    return [finding for finding in findings if finding.status is Status.PROBLEM]


def verdict(findings: Iterable[Finding]) -> str:
    """Say in one line whether reference runs work here."""
    names = [finding.name for finding in problems(findings)]
    if not names:
        return "OK reference runs work here"
    return f"NOT YET {len(names)} problem{'s' if len(names) > 1 else ''} to solve first: {', '.join(names)}"
