"""The prose keeps two rules: no line over 120 characters, no paragraph over six lines."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from tests.docs.blocks import ROOT

FOLDERS = ("docs", ".github", "examples", "benchmarks")
PAGES = sorted({*ROOT.glob("*.md"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))})
WIDEST, LONGEST = 120, 6


def offences(text: str) -> list[str]:
    """Lines that are too wide and paragraphs that are too long. Tables, code and link targets cannot be wrapped."""
    lines = text.splitlines()
    found = []
    for token in MarkdownIt().enable("table").parse(text):
        if token.type not in ("paragraph_open", "heading_open"):
            continue
        first, last = token.map
        found += [
            f"line {number + 1}: {len(lines[number])} characters"
            for number in range(first, last)
            if len(lines[number]) > WIDEST and " " in lines[number].strip()
        ]
        if last - first > LONGEST:
            found.append(f"line {first + 1}: a paragraph of {last - first} lines")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose(page):
    assert offences(page.read_text()) == []


def test_what_is_too_long_is_found():
    assert offences("a " * 61) == ["line 1: 122 characters"]
    assert offences("- one\n" + "  more\n" * 6) == ["line 1: a paragraph of 7 lines"]
    assert offences("| a |\n|---|\n| " + "b " * 100 + "|\n\n```\n" + "c " * 100 + "\n```\n") == []
