from __future__ import annotations

import mmap
import time

from tests.launch import conftest
from tests.launch.conftest import forgotten_files


def test_only_forgotten_files_are_listed(tmp_path, monkeypatch):
    """Files that are mapped, that are older than the tests or too new, and that are not MPICH's, stay."""
    began_at = time.time() - 1
    for name in ("mpich_shm_1_0", "mpich_shm_2_0", "other"):
        (tmp_path / name).write_bytes(bytes(4096))
    assert forgotten_files(tmp_path, began_at) == []
    monkeypatch.setattr(conftest, "SETTLED_S", -1)
    with (tmp_path / "mpich_shm_1_0").open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        assert forgotten_files(tmp_path, began_at) == [tmp_path / "mpich_shm_2_0"]
    assert forgotten_files(tmp_path, began_at + 100) == []
