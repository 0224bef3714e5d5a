from __future__ import annotations

import pytest

from r2cc_mpi.errors import UsageError
from scripts.reproduction import command_line
from scripts.reproduction.command_line import main
from scripts.reproduction.parser import build_parser
from scripts.reproduction.setting import Setting


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("experiment1 --nodes 1", "--nodes '1'"),
        ("experiment1 --size 3 --mpi mpich", "--size 3: give a multiple of 4"),
        ("experiment1 --rate fast", "--rate 'fast' is not a rate"),
        ("experiment2 --iterations 4 --mpi mpich", "--iterations '4' is not a whole number from 5"),
        ("experiment1 --how hammer", "invalid choice: 'hammer'"),
        ("heal --outage soon --mpi mpich", "--outage 'soon' is not a number of seconds above zero"),
        ("table4 --pieces 0 --mpi mpich", "--pieces '0'"),
        ("cuts --runs 0", "--runs '0'"),
        ("heal --json /nowhere/file", "--json /nowhere/file"),
        ("experiment3", "invalid choice: 'experiment3'"),
    ],
)
def test_mistakes(words, text):
    """A mistake is one line that names the option, before any network is built."""
    with pytest.raises(UsageError, match=text):
        main(words.split())


def test_missing_mpi_is_said(monkeypatch, capsys):
    """An MPI that is not installed is left out with its reason, and the rest goes on."""
    monkeypatch.setattr(command_line, "missing", lambda mpi: "no Open MPI" if mpi.value == "openmpi" else "")
    words = build_parser().parse_args(["heal"])
    assert [mpi.value for mpi in command_line._mpis(words)] == ["mpich"]
    assert capsys.readouterr().out == "# left out: no Open MPI\n"


def test_what_a_link_carries():
    """1448 of 1514 bytes of a frame are payload: 11.96 MB/s of 100 Mbit/s. The formulas take that."""
    setting = Setting(3, 3, 12.5e6, 32 * 2**20)
    assert setting.rail_bytes_per_s == pytest.approx(11.955e6, rel=1e-4)
    # 4/3 of 33.55 MB at three times 11.955 MB/s
    assert setting.healthy_s == pytest.approx(1.2474, rel=1e-4)
    assert setting.hot_repair_s == pytest.approx(2 * setting.healthy_s)
    assert str(setting) == "3 x 3 at 100 Mbit/s, 32 MiB"
