"""The examples in docs/ are run, and print what the pages say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)?::(test_\w+)`")
EXAMPLE = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def failures(text: str, name: str) -> tuple[int, int, str]:
    """Run all examples of a page in one session, from top to bottom.

    Returns:
        How many lines failed, how many were tried, and what doctest says about those that failed.
    """
    said: list[str] = []
    blocks = [match[1] for match in EXAMPLE.finditer(text)]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return result.failed, result.attempted, "".join(said)


@pytest.mark.parametrize("page", ["algorithms.md"])
def test_examples_of_a_page_are_true(page):
    """Every example prints what the page says, and the page has some."""
    failed, tried, said = failures((DOCS / page).read_text(encoding="utf-8"), page)
    assert not failed, said
    assert tried > 20


def test_a_wrong_example_is_found():
    """The check sees a page whose example prints something else, and does not run what is no example."""
    page = "# T\n\n```pycon\n>>> 1 + 1\n2\n```\n\n```\n$ r2cc\n```\n\n```pycon\n>>> 2 + 2\n5\n```\n"
    failed, tried, said = failures(page, "page")
    assert (failed, tried) == (1, 2)
    assert "Expected:\n    5\nGot:\n    4" in said


def missing_tests(text: str) -> list[str]:
    """List the tests that a page names and that are not there; `::test_x` is in the file named before."""
    missing, file = [], ""
    for found in NAMED_TEST.finditer(text):
        file = found[1] or file
        if f"def {found[2]}(" not in (ROOT / file).read_text(encoding="utf-8"):
            missing.append(f"{file}::{found[2]}")
    return missing


def test_tests_that_pages_name_exist():
    """The table of formulas names tests that are there; one that is not would be found."""
    text = (DOCS / "simulator.md").read_text(encoding="utf-8")
    assert missing_tests(text) == []
    assert len(NAMED_TEST.findall(text)) > 15
    assert missing_tests("`tests/test_docs.py::test_tests_that_pages_name_exist`, `::test_x`") == [
        "tests/test_docs.py::test_x"
    ]
