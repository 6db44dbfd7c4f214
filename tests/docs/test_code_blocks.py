"""Every code block of the README and the documentation runs, and gives what the page says it gives."""

from __future__ import annotations

import os

import pytest

from tests.docs.blocks import CODE, PAGES, README, ROOT, blocks, on_spark, run


@pytest.mark.parametrize(
    "page", [page for page in PAGES if not on_spark(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "COLUMNS", "100")
    run(page)


def test_they_are_found():
    """So that a change of the parser cannot make all tests pass by finding nothing."""
    assert sum(block.language in CODE for page in PAGES for block in blocks(page)) > 40
    assert len([block for block in blocks(README) if block.language in CODE]) >= 4
    assert any(on_spark(page) for page in PAGES)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\nraise ValueError('here')\n```\n", "here"),
        ("```console\n$ windrow --version\nwindrow 0.0\n```\n", "printed"),
        ("```console\n$ windrow no-such-command\n```\n", "ended with 2"),
        ("```sh\npip install '.[nothing]'\n```\n", "nothing"),
        ("```ruby\nputs 1\n```\n", "ruby"),
        ('```{.python}\n--8<-- "examples/none.py"\n```\n', "page.md:1"),
    ],
)
def test_what_is_wrong_is_told(text, why, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.blocks.Block.where", "page.md:1")
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises((AssertionError, ValueError), match=why):
        run(page)
