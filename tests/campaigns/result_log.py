"""The log of a campaign: one line for each run, from which an interrupted campaign goes on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PASSED = "passed"


class Entry(NamedTuple):
    """How one run ended.

    Attributes:
        verdict: `passed`, or what it did instead.
        name: Which run it was.
        command: What repeats it, as typed in the root of the repository.
        detail: What there is to say about it.
    """

    verdict: str
    name: str
    command: str
    detail: str = ""


class ResultLog:
    """Results of a campaign, kept in a file if there is one.

    A line holds the four parts of an entry with tabs between. A run that is repeated has several lines, of
    which the last one counts.

    Args:
        path: The file, which is read if it exists; None keeps results in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.entries: dict[str, Entry] = {}
        if path is None or not path.exists():
            return
        text = path.read_text(encoding="utf-8")
        whole, _, cut_short = text.rpartition("\n")
        if cut_short:  # by whatever interrupted the campaign; the run counts as not done
            path.write_text(whole + "\n" if whole else "", encoding="utf-8")
        for line in whole.splitlines():
            entry = Entry(*line.split("\t"))
            self.entries[entry.name] = entry

    def verdict(self, name: str) -> str | None:
        """Say how a run ended; None if it has not been made."""
        return self.entries[name].verdict if name in self.entries else None

    def add(self, entry: Entry) -> None:
        """Keep a result, and write it at once."""
        entry = Entry(*(" ".join(part.split()) for part in entry))
        self.entries[entry.name] = entry
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\t".join(entry) + "\n")
