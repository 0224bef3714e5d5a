"""Which version of this package runs."""

from __future__ import annotations

from importlib import metadata


def installed_version() -> str:
    """Give the version, as pip knows it."""
    try:
        return metadata.version("r2cc-mpi")
    except metadata.PackageNotFoundError:  # run from its sources
        return "(not installed)"
