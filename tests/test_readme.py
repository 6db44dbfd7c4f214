"""The README's examples run, and give what it says they give."""

import doctest
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_examples() -> None:
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 10
    assert not failed


def test_docs() -> None:
    for page in (README.parent / "docs").glob("*.md"):
        failed, _ = doctest.testfile(str(page), module_relative=False)
        assert not failed, page.name
