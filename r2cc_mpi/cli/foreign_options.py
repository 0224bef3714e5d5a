"""nccl-tests' options that mean nothing here: accepted when they ask for what is the case anyway."""

from __future__ import annotations

import argparse
from argparse import Namespace
from dataclasses import dataclass

from r2cc_mpi.errors import UsageError


@dataclass(frozen=True)
class Foreign:
    """An option of nccl-tests.

    Attributes:
        short: The letter.
        long: The word.
        same: The value that asks for nothing special; None if there is none.
        reason: Why any other value makes no sense here.
    """

    short: str
    long: str
    same: str | None
    reason: str


NO_GPU = "nothing here runs on a GPU"
FOREIGN = (
    Foreign("-t", "--nthreads", "1", "every rank is a process of its own, start more of them"),
    Foreign("-g", "--ngpus", "1", "every rank owns one rail and no GPU, start more ranks"),
    Foreign("-G", "--cudagraph", "0", f"{NO_GPU}; --persistent replays a plan as a graph does"),
    Foreign("-C", "--report_cputime", "0", "times are those of the host's clock already"),
    Foreign("-z", "--blocking", "0", "every call blocks, and a barrier precedes each iteration"),
    Foreign("-p", "--parallel_init", "0", "there is one thread of a rank to initialise"),
    Foreign("-R", "--local_register", "0", "user buffers need no registration"),
    Foreign("-x", "--cta_policy", None, NO_GPU),
    Foreign("-D", "--device_implementation", "0", NO_GPU),
    Foreign("-V", "--device_cta_count", None, NO_GPU),
    Foreign("-u", "--unalign", "0", "the transport copies, so alignment changes nothing"),
    Foreign("-M", "--memory", "0", "there is no GPU memory to report"),
)


def add(parser: argparse.ArgumentParser) -> None:
    """Let a parser know the options, without listing them in its help."""
    for one in FOREIGN:
        parser.add_argument(one.short, one.long, help=argparse.SUPPRESS)


def refuse(words: Namespace) -> None:
    """Look at what the user gave.

    Raises:
        UsageError: An option asks for something that there is not.
    """
    for one in FOREIGN:
        value = getattr(words, one.long.lstrip("-"))
        if value is not None and value != one.same:
            instead = "" if one.same is None else f" or write {one.short} {one.same}"
            raise UsageError(f"{one.short} {value}: {one.reason}; leave it out{instead}")
