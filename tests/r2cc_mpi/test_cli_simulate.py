from __future__ import annotations

import json
from fractions import Fraction

import pytest

from algorithms.nic import Nic
from analysis import two_stage
from analysis.rail_rates import RailRates
from analysis.simulator import Gate, PortRule, Rules
from r2cc_mpi import cli
from r2cc_mpi.cli import simulate
from r2cc_mpi.cli.parser import build_parser
from r2cc_mpi.cli.simulate_options import read_options
from r2cc_mpi.errors import UsageError

pytestmark = pytest.mark.usefixtures("no_launcher")

# D/B is one second
CLUSTER = ["--nodes", "3", "--rails", "3", "--rail-rate", "20MB/s", "-b", "60000000"]


def run(*words):
    """Run `r2cc simulate` on the usual cluster."""
    return cli.main(["simulate", words[0], *CLUSTER, *words[1:]])


def document(capsys, *words):
    """Run it with `--json -` and read the document."""
    assert run(*words, "--json", "-") == 0
    return json.loads(capsys.readouterr().out)


def test_simulation_is_printed(capsys):
    """Time, the fault-free ring, the bound and the stages stand in the output: 23/12 D/B for K = 4."""
    assert run("r2cc-allreduce", "--fail", "0:2", "--pieces", "4", "--alpha", "0") == 0
    text = capsys.readouterr().out
    assert "# r2cc simulate r2cc-allreduce: 3 nodes x 3 rails" in text
    assert "bandwidths of the nodes / B: 2/3, 1, 1" in text
    assert "1917 ms = 1.91667 D/B" in text
    assert "this takes 1.4375 times that" in text
    assert "27.78% longer" in text  # 23/12 over 3/2
    assert "messages one after another" in text
    assert any(line.split()[:3] == ["own", "data", "in"] for line in text.splitlines())
    # 2 (n-1)/n (1-Y) + Y = 11/9 of 60 MB on two rails
    assert any(line.split()[:3] == ["0:0", "36.667", "36.667"] for line in text.splitlines())


def test_json_holds_the_same_simulation(capsys):
    """The document has seconds and bytes: of the closed form, of the ports, of the critical path."""
    words = ("r2cc-allreduce", "--fail", "0:2", "--pieces", "8", "--alpha", "0")
    found = document(capsys, *words)
    (one,) = found["collectives"]
    assert one["exact"] is True
    assert one["time_s"] == float(two_stage.r2cc_allreduce(3, Fraction(1, 3), pieces=8))
    assert found["ring_s"] == pytest.approx(4 / 3)
    assert found["bound_s"] == 1.5
    assert one["gap"] == pytest.approx(one["time_s"] / 1.5 - 1)
    assert one["rail_bytes"]["0:2"] == {"tx": 0.0, "rx": 0.0}
    assert one["rail_bytes"]["0:1"]["tx"] == pytest.approx(60e6 * 11 / 9 / 2)
    assert one["critical_path"][0]["begin_s"] == 0
    assert one["critical_path"][-1]["end_s"] == one["time_s"]
    port = one["ports"]["0:0"]["send"]
    assert port["last_s"] == pytest.approx(port["first_s"] + port["busy_s"] + port["idle_s"])


def test_failure_on_the_way_is_repaired_and_then_planned_around(capsys):
    """The first collective of 4/3 s is hit in its middle, the second runs balanced, the third is healthy."""
    words = ["balance", "-n", "3", "--alpha", "0", "--chunk", "1M"]
    words += ["--fail", "1:1@0.666666667s", "--recover", "1:1@3.9s"]
    found = document(capsys, *words)
    ratios = [one["over_ring"] for one in found["collectives"]]
    assert 1.5 <= ratios[0] < 1.53
    assert ratios[1] == pytest.approx(1.5, rel=1e-4)
    assert ratios[2] == pytest.approx(1, rel=1e-4)
    assert 0 < found["collectives"][0]["resent_bytes"] <= 4 * 2**20
    assert found["collectives"][1]["begin_s"] == found["collectives"][0]["time_s"]


@pytest.mark.parametrize(
    ("when", "dies_at"),
    [
        # a chunk takes 1 MB / 20 MB/s; the rail sends 26 2/3 of them, in four steps of 6 2/3
        ("@50%", Fraction(40, 60)),
        ("@chunk=3", Fraction(9, 60)),
        ("@0%", Fraction(0)),
        ("@iter=2,25%", Fraction(100, 60)),
    ],
)
def test_failure_may_wait_for_bytes_or_chunks(when, dies_at):
    """As in `r2cc run`: a share of what the rail sends in a collective, or one of its chunks."""
    words = ["balance", "-n", "2", "--alpha", "0", "--chunk", "1000000", "--fail", f"1:1{when}"]
    question = read_options(build_parser().parse_args(["simulate", words[0], *CLUSTER, *words[1:]]))
    assert question.changes == ()
    (change,) = simulate._changes(question)
    assert change.nic == Nic(1, 1)
    assert change.time == dies_at


def test_recovery_may_wait_for_the_collective(capsys):
    """Dead in the first collective, back in the middle of the second: the third is healthy again."""
    words = ["balance", "-n", "3", "--alpha", "0", "--chunk", "1M"]
    words += ["--fail", "1:1@50%", "--recover", "1:1@iter=2,50%"]
    found = document(capsys, *words)
    ratios = [one["over_ring"] for one in found["collectives"]]
    assert ratios == [pytest.approx(1.5, rel=0.02), pytest.approx(1.5, rel=1e-3), pytest.approx(1, rel=1e-3)]


def test_events_are_printed(capsys):
    """A run with failures on the way lists them, and one line per collective."""
    words = ["--fail", "1:1@0.5s", "--slow", "0:0=0.5@1s", "--unnoticed", "10ms", "--chunk", "1M"]
    assert run("hot-repair", "-n", "2", *words) == 0
    text = capsys.readouterr().out
    assert "# at 500 ms: node 1 rail 1 dies, noticed at 510 ms" in text
    assert "# at 1000 ms: node 0 rail 0 runs at 1/2 of its rate" in text
    lines = [line.split() for line in text.splitlines()]
    assert [line[0] for line in lines if len(line) == 5 and line[0] != "#"] == ["1", "2"]


def test_picture_is_drawn(tmp_path):
    """`--plot` writes a picture of the ports."""
    file = tmp_path / "ports.svg"
    assert run("ring", "--plot", str(file)) == 0
    assert "<svg" in file.read_text(encoding="utf-8")


def test_re_ranking_is_offered(capsys):
    """Nodes 0 and 1 lost different rails: as neighbours they are slower than apart."""
    cluster = ["simulate", "balance", "--nodes", "4", "--rails", "4", "--fail", "0:0", "--fail", "1:1"]
    times = []
    for extra in ([], ["--re-rank"]):
        assert cli.main([*cluster, "--alpha", "0", "--json", "-", *extra]) == 0
        times.append(json.loads(capsys.readouterr().out)["collectives"][0]["time"])
    assert times == [3.0, 2.0]


def test_rules_reach_the_simulator():
    """Ports, gate, alpha and the rate of a node are read into the units of the simulator."""
    words = ["--ports", "strict", "--gate", "start", "--alpha", "1ms", "--node-rate", "30MB/s"]
    question = read_options(build_parser().parse_args(["simulate", "ring", *CLUSTER, *words]))
    assert question.rules == Rules(Fraction(1, 1000), PortRule.STRICT, Gate.START, Fraction(1, 2))
    assert question.rates == RailRates.of(3, 3)
    assert question.chunk is None


def test_changes_reach_the_simulator():
    """Times are converted to D/B, silence counts for deaths only, and chunks become those of the executor."""
    words = ["--fail", "1:1@0.5s", "--slow", "0:0=0.5@1s", "--recover", "1:1@2s", "--unnoticed", "10ms"]
    words += ["--fail", "2:2"]
    question = read_options(build_parser().parse_args(["simulate", "balance", *CLUSTER, *words]))
    assert question.rates == RailRates.of(3, 3, [Nic(2, 2)])
    assert {(one.time, one.nic, one.factor, one.unnoticed) for one in question.changes} == {
        (Fraction(1, 2), Nic(1, 1), 0, Fraction(1, 100)),
        (Fraction(1), Nic(0, 0), Fraction(1, 2), 0),
        (Fraction(2), Nic(1, 1), 1, 0),
    }
    assert question.chunk == Fraction(1, 229)  # 60,000,000 bytes are 228.9 chunks of 256 KiB


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tree"], "ALGORITHM 'tree' is unknown: it has ring"),
        (["ring", "--fail", "1:1"], "ring stops where a rail is dead"),
        (["balance", "--fail", "1:1@iter=2,50%"], "there is no iteration 2"),
        (["balance", "--fail", "1:1@chunk=500"], "--fail 1:1@iter=1,chunk=500: collective 1 is over before"),
        (["balance", "--fail", "1:1@50%", "--recover", "1:1@chunk=1"], "a dead rail sends no chunks"),
        (["balance", "--fail", "3:1"], "there is no node 3"),
        (["balance", "--unnoticed", "1ms"], "no rail dies on the way"),
        (["balance", "--plot", "ports.pdf"], "pictures are png or svg"),
        (["balance", "--ports", "lucky"], "--ports 'lucky' is unknown"),
        (["balance", "--gate", "none"], "--gate 'none' is unknown"),
        (["balance", "--chunk", "0"], "--chunk 0"),
        (["balance", "--alpha", "fast"], "--alpha 'fast' is not a time"),
        (["balance", "--chunk", "1"], "stripes are more than simulate takes"),
        (["r2cc-allreduce"], "needs exactly one node with dead rails"),
        (["r2cc-allreduce", "--partial", "2"], "--partial '2' is no share"),
        (["balance", *(f"--fail={nic}" for nic in ("0:0", "0:1", "1:2", "2:2"))], "separate the nodes into"),
    ],
)
def test_what_does_not_fit_is_refused(words, message, capsys):
    """Mistakes end with status 1 and one line that names the option."""
    assert run(*words) == 1
    error = capsys.readouterr().err
    assert error.startswith("r2cc: error: ")
    assert message in error
    assert len(error.splitlines()) == 1
    with pytest.raises(UsageError):
        simulate.run(build_parser().parse_args(["simulate", words[0], *CLUSTER, *words[1:]]))


def test_too_many_ports_are_not_drawn(capsys):
    """A picture of 200 ports is refused before anything is simulated."""
    words = ["simulate", "ring", "--nodes", "50", "--rails", "2", "--plot", "ports.png"]
    assert cli.main(words) == 1
    assert "more ports than fit a picture" in capsys.readouterr().err
