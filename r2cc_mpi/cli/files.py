"""Writing what a command reports into a file or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path

from r2cc_mpi.errors import MachineError


def write_text(option: str, target: str, text: str) -> None:
    """Write a text.

    Args:
        option: The option that asked for it, for messages.
        target: A file, or `-` for standard output.
        text: What to write.

    Raises:
        MachineError: If the file cannot be written.
    """
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise MachineError(f"{option} {target}: cannot write it ({error.strerror})") from error
