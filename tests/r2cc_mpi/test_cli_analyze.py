from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from analysis import papers
from analysis.reports import table1
from r2cc_mpi import cli
from r2cc_mpi.cli import analyze
from r2cc_mpi.cli.analyze_options import CASE_OPTIONS, PICTURES
from r2cc_mpi.cli.analyze_parser import ABOUT

pytestmark = pytest.mark.usefixtures("no_launcher")

ROOT = Path(__file__).resolve().parents[2]

CASES = [
    "table1",
    "figure6",
    "figure6 --nodes 8 --lost 1/2",
    "figure7",
    "figure7 --nodes 8 --rails 4",
    "figure17",
    "table4",
    "table4 --nodes 4 --lost 0.25",
    "k-sweep",
    "k-sweep --nodes 4 --rails 8 --fail 2:0 --fail 2:1",
    "k-sweep --rails 8",
    "bound",
    "bound --bandwidths 1,1,0.75,1/2",
    "bound --nodes 4 --rails 2 --fail 0:0 --fail 2:0 --fail 1:1",
    "bound --nodes 4 --rails 2 --fail 0:0 --fail 2:0 --fail 1:1 --fail 3:1",
    "bound --nodes 3 --rails 2 --slow 1:1=1/3",
    "training",
    "training --nodes 8 --rails 4 --lost 1/4 --exposed 0.05,1/3",
    "headline --sizes 16G --messages 3000",
    "headline --alpha 0",
    "headline --sizes 1G,4G --alpha 2us --rail-rate 50Gbit/s --messages 0",
    "failures --samples 30",
    "failures --nodes 2 --rails 2 --dead 1,2 --samples 30 --seed 7 --exposed 0,1/2",
]


def analyse(words):
    """Carry out one command line."""
    return cli.main(["analyze", *words.split()])


@pytest.mark.parametrize("words", CASES)
def test_text_json_and_csv_agree(words, tmp_path, capsys):
    """Every report prints text, and JSON and CSV hold the same rows; status 0."""
    assert analyse(f"{words} --json {tmp_path}/it.json --csv {tmp_path}/it.csv") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    report = json.loads((tmp_path / "it.json").read_text())["analyze"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "it.csv").read_text())))
    assert report["what"] == words.split()[0]
    body = [line for line in printed.out.splitlines() if not line.startswith("#")]
    assert len(body) == len(rows) == len(report["rows"]) > 0
    for one, other in zip(rows, report["rows"], strict=True):
        for key, value in other.items():
            assert one[key] == ("" if value is None else str(value))
    for exact, row in zip(report["exact_rows"], report["rows"], strict=True):
        assert all(float(Fraction(text)) == row[key] for key, text in exact.items())


def test_table_1_is_printed_with_the_papers_digits(capsys):
    """All nine numbers of table 1 of paper 1 stand in the text as the paper prints them."""
    assert analyse("table1") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert [(int(line[0]), Fraction(line[1])) for line in lines] == list(papers.TABLE_1)
    assert [line[2] for line in lines] == [str(number) for number in papers.TABLE_1.values()]
    assert {line[-1] for line in lines} == {"yes"}


def test_wrong_digit_is_status_2(monkeypatch, capsys):
    """A digit of table 1 that does not follow from the formula ends the command with status 2."""
    wrong = {**papers.TABLE_1, (16, Fraction(1, 2)): Decimal("0.06784")}
    build = table1.build
    monkeypatch.setattr(table1, "build", lambda: build(wrong))
    assert analyse("table1") == 2
    printed = capsys.readouterr()
    assert "1 of 9 DIFFER" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_standard_output_holds_nothing_else(option, capsys):
    """With - the report alone goes to standard output, and the text to standard error."""
    assert analyse(f"figure6 {option} -") == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("# Load of a node")
    if option == "--json":
        assert json.loads(printed.out)["analyze"]["what"] == "figure6"
    else:
        assert len(list(csv.DictReader(io.StringIO(printed.out)))) == 6


def test_options_reach_the_report(capsys):
    """What the user names is what is computed."""
    assert analyse("k-sweep --nodes 4 --rails 8 --fail 2:0 --fail 2:1") == 0
    assert "the healthy ring of 4, X = 1/4" in capsys.readouterr().out
    assert analyse("figure7 --nodes 8 --rails 4") == 0
    assert "one of 8 nodes having lost f of 4 rails" in capsys.readouterr().out
    assert analyse("bound --nodes 3 --rails 2 --slow 1:1=1/3 --json -") == 0
    assert json.loads(capsys.readouterr().out)["analyze"]["facts"]["degraded"] == "1:1 at 1/3"
    assert analyse("failures --nodes 3 --rails 2 --dead 2 --samples 99 --seed 5 --json -") == 0
    report = json.loads(capsys.readouterr().out)["analyze"]
    assert report["facts"]["seed"] == 5
    assert {(row["nodes"], row["dead_rails"], row["samples"]) for row in report["rows"]} == {(3, 2, 15)}
    assert analyse("headline --sizes 2G --alpha 3us --rail-rate 100Gbit/s --messages 0 --json -") == 0
    report = json.loads(capsys.readouterr().out)["analyze"]
    assert (report["facts"]["alpha_us"], report["facts"]["node_rate_gbit_per_s"]) == (3, 800)
    assert {row["size_gib"] for row in report["rows"]} == {None, 2}
    assert {row["r2cc_by"] for row in report["rows"]} == {"formula"}
    assert analyse("table4 --lost 1/3 --json -") == 0
    assert "measured" in json.loads(capsys.readouterr().out)["analyze"]["rows"][0]


@pytest.mark.parametrize(("what", "ending"), [*((what, ".png") for what in PICTURES), ("figure17", ".svg")])
def test_pictures_are_made(what, ending, tmp_path, capsys):
    """Every report that has a picture writes one, of the type that its name says, beside its text."""
    file = tmp_path / f"it{ending}"
    assert analyse(f"{what} --plot {file}") == 0
    assert file.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml"}[ending])
    assert capsys.readouterr().out.startswith("# ")


MISTAKES = [
    ("", "required: WHAT"),
    ("nonsense", "WHAT 'nonsense' is unknown: there are table1, figure6"),
    ("headline --nodes 8", "--nodes means nothing to headline"),
    ("headline --sizes 1Q", "--sizes '1Q' is not a size"),
    ("headline --sizes 1G,0", "give at least one byte"),
    (f"headline --sizes {','.join(['1G'] * 17)}", "lists 17 numbers"),
    ("headline --alpha soon", "--alpha 'soon' is not a time"),
    ("headline --rail-rate 0MB/s", "--rail-rate '0MB/s' is a rate of zero"),
    ("headline --messages 3000000", "analyze takes up to 2000000"),
    ("training --rail-rate 1MB/s", "--rail-rate means nothing to training"),
    ("failures --dead 0", "--dead '0' is not a whole number from 1 on"),
    ("failures --dead 1,x", "--dead 'x'"),
    ("failures --samples 0", "--samples '0' is not a whole number from 1 on"),
    ("failures --seed -1", "--seed"),
    ("failures --nodes 2 --rails 2 --dead 5", "5 dead rails: 2 nodes of 2 have only 4"),
    ("failures --sizes 1G", "it takes --nodes, --rails, --dead"),
    ("table1 --nodes 4", "--nodes means nothing to table1"),
    ("figure17 --lost 1/4", "--lost means nothing to figure17"),
    ("figure7 --fail 1:1", "it takes --nodes, --rails"),
    ("table1 --plot x.png", "table1 has no picture"),
    ("figure7 --plot x.pdf", "--plot x.pdf: pictures are png or svg"),
    ("figure7 --plot -", "--plot -: pictures are png or svg"),
    ("figure7 --plot no/such/x.png", "there is no folder no/such"),
    ("figure7 --json no/such/x.json", "--json no/such/x.json: there is no folder"),
    ("figure7 --csv /", "--csv /: that is a folder"),
    ("figure7 --json - --csv -", "--json - and --csv - go to the same place"),
    ("figure7 --json x.svg --plot x.svg", "go to the same place"),
    ("figure7 --nodes 1", "--nodes '1' is not a whole number from 2 on"),
    ("figure7 --nodes x", "--nodes 'x'"),
    ("figure7 --nodes 99999", "--nodes 99999: analyze takes up to 4096"),
    ("figure7 --rails 65", "--rails 65: analyze takes up to 64"),
    ("bound --nodes 4096 --rails 2", "up to 4096 NICs"),
    ("figure7 --rails 1", "give at least 2 rails"),
    ("figure6 --lost 1", "--lost '1' is no share"),
    ("figure6 --lost 12%", "--lost '12%' is no number"),
    ("figure6 --lost -1/4", "--lost"),
    ("bound --bandwidths 1,x", "--bandwidths 'x' is no number"),
    ("bound --bandwidths 1,1/0", "--bandwidths '1/0' is no number"),
    ("bound --bandwidths 1,0", "node 1 has a bandwidth of 0"),
    ("bound --bandwidths 1", "a single node exchanges nothing"),
    ("bound --bandwidths 1,1 --nodes 2", "describe two different clusters"),
    ("bound --nodes 3", "give --rails too"),
    ("bound --fail 1:1", "give --nodes and --rails too"),
    ("bound --bandwidths 1,1 --plot x.png", "leave all other options out"),
    ("bound --nodes 3 --rails 2 --fail 1:1@40%", "with no WHEN"),
    ("bound --nodes 3 --rails 2 --fail 1", "write NODE:RAIL"),
    ("bound --nodes 3 --rails 2 --fail 3:0", "there is no node 3"),
    ("bound --nodes 3 --rails 2 --fail 0:2", "there is no rail 2"),
    ("bound --nodes 3 --rails 2 --fail 0:1 --fail 0:1", "given 2 times"),
    ("bound --nodes 3 --rails 2 --fail 0:1 --fail 0:0", "leave it at least one"),
    ("bound --nodes 3 --rails 2 --slow 0:1", "write NODE:RAIL=F"),
    ("bound --nodes 3 --rails 2 --slow 0:1=2", "above 0 and at most 1"),
    ("bound --nodes 3 --rails 2 --slow 0:1=1/2 --fail 0:1", "both name node 0 rail 1"),
    ("k-sweep --nodes 3 --rails 2 --fail 0:1 --fail 1:1", "name rails of a single one"),
    ("k-sweep --nodes 3 --rails 2 --fail 0:1 --lost 1/2", "--lost and --fail both say"),
    ("k-sweep --rails 8 --lost 1/3", "give a multiple of 3 rails"),
    ("table4 --rails 1", "1 of 1 rails lost"),
    ("training --nodes 2", "needs at least 3"),
    ("training --exposed 1.5", "--exposed 3/2 is no share of an iteration"),
    (f"bound --bandwidths {','.join(['1'] * 4097)}", "lists 4097 numbers"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[words[:60] for words, _ in MISTAKES])
def test_mistake_is_one_line_and_status_1(words, message, capsys):
    """A mistake is one line on standard error that names the culprit; nothing is printed or written."""
    assert analyse(words) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("r2cc: error: ")
    assert printed.err.count("\n") == 1
    assert message in printed.err


@pytest.mark.parametrize("option", ["--json it.json", "--csv it.csv", "--plot it.svg"])
def test_file_that_cannot_be_written(option, tmp_path, monkeypatch, capsys):
    """A file that the system refuses to write is one line and status 1."""
    name = option.split()[1]
    (tmp_path / name).symlink_to(tmp_path / "no such folder" / name)
    monkeypatch.chdir(tmp_path)
    assert analyse(f"figure6 {option}") == 1
    assert f"{option}: cannot write it" in capsys.readouterr().err


def test_without_matplotlib_all_but_pictures_works(monkeypatch, tmp_path, capsys):
    """Where matplotlib is missing only --plot fails, in one line that says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert analyse("figure7") == 0
    capsys.readouterr()
    assert analyse(f"figure7 --plot {tmp_path}/it.png") == 1
    assert "pip install matplotlib" in capsys.readouterr().err


def test_help_names_every_report(capsys):
    """The help lists all reports with a line each, and every one has its options and its builder."""
    with pytest.raises(SystemExit):
        analyse("--help")
    printed = capsys.readouterr().out
    assert all(f"  {what} " in printed and about in printed for what, about in ABOUT.items())
    assert set(ABOUT) == set(CASE_OPTIONS) == set(analyze._BUILDERS)


def test_no_report_imports_mpi_scipy_or_matplotlib():
    """All reports together import neither MPI nor SciPy, and matplotlib only to draw."""
    code = f"""
import io, sys
from contextlib import redirect_stdout
from r2cc_mpi.cli import main
with redirect_stdout(io.StringIO()):
    states = [main(["analyze", *words.split()]) for words in {CASES!r}]
print(set(states), [name for name in ("mpi4py.MPI", "scipy", "matplotlib") if name in sys.modules])
"""
    command = [sys.executable, "-W", "error", "-c", code]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (answer.stdout, answer.stderr) == ("{0} []\n", "")
