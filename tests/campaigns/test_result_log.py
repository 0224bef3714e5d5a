from __future__ import annotations

from tests.campaigns.result_log import Entry, ResultLog

FIRST = Entry("passed", "run 1", "repeat 1", "well")
SECOND = Entry("hung", "run 2", "repeat 2")


def test_results_are_read_again(tmp_path):
    """A log says after a restart what it said before; a run that is repeated counts as it ended last."""
    log = ResultLog(tmp_path / "log")
    for entry in (FIRST, SECOND, SECOND._replace(verdict="passed")):
        log.add(entry)
    again = ResultLog(tmp_path / "log")
    assert again.entries == log.entries == {"run 1": FIRST, "run 2": SECOND._replace(verdict="passed")}
    assert (again.verdict("run 2"), again.verdict("run 3")) == ("passed", None)


def test_line_that_was_cut_short_counts_for_nothing(tmp_path):
    """What an interrupted campaign has half written is dropped, and new results begin on a new line."""
    path = tmp_path / "log"
    ResultLog(path).add(FIRST)
    path.write_text(path.read_text() + "passed\trun 2\trep")
    log = ResultLog(path)
    assert log.entries == {"run 1": FIRST}
    log.add(SECOND)
    assert ResultLog(path).entries == {"run 1": FIRST, "run 2": SECOND}
    path.write_text("passed\trun")
    assert ResultLog(path).entries == {}


def test_lines_stay_lines(tmp_path):
    """Whatever a run said is put into one line of four parts."""
    path = tmp_path / "log"
    ResultLog(path).add(SECOND._replace(detail="a\tb\nc"))
    assert path.read_text() == "hung\trun 2\trepeat 2\ta b c\n"


def test_log_without_a_file():
    """Without a file results are kept for the summary."""
    log = ResultLog(None)
    log.add(FIRST)
    assert log.verdict("run 1") == "passed"
