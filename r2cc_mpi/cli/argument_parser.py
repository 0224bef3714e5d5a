"""An argument parser whose mistakes are errors of this project, one line each."""

from __future__ import annotations

import argparse
from typing import NoReturn

from r2cc_mpi.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError instead of printing its usage and exiting with status 2."""

    def error(self, message: str) -> NoReturn:
        """Report what argparse did not understand."""
        raise UsageError(f"{message} (see {self.prog} --help)")
