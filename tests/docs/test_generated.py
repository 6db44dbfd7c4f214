"""What is made by a script is what the script makes now."""

from __future__ import annotations

import pytest

from tests.docs.blocks import ROOT, script
from windrow import swag, win

DOCS = ROOT / "docs"


def test_cards():
    cards = script(DOCS / "write_cards.py")
    page = (DOCS / "cards.md").read_text()
    assert page == cards.page(), "python docs/write_cards.py"
    for name, algorithm in swag.ALGORITHMS.items():
        assert f"## {name}\n" in page and algorithm.card.paper in page


def test_pictures(tmp_path):
    """Drawn again from the pages' examples, every picture is the same to the byte."""
    pytest.importorskip("matplotlib")
    drawing = script(DOCS / "draw_windows.py")
    drawing.main(tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in (DOCS / "images").glob("window_*.svg")}
    assert set(drawn) == set(kept) == {f"window_{kind}.svg" for kind in [*win.__all__, "readme"]}
    assert [name for name in drawn if drawn[name] != kept[name]] == [], "python docs/draw_windows.py"


def test_pictures_show_the_rows_of_each_window():
    """Bars against windows counted by hand: what is drawn is what a window holds."""
    drawing = script(DOCS / "draw_windows.py")
    names = drawing.example(DOCS / "windows" / "sliding.md")
    at = [1, 3, 4, 8, 9, 12, 17, 18, 23, 24, 26, 29]
    places = drawing.minutes(names["rows"]["at"], names["rows"], names["query"])
    assert places.tolist() == at
    bars = drawing.bars(names["query"], names["rows"], places)
    expected = [(s, s + 10, [i for i, t in enumerate(at) if s <= t < s + 10]) for s in range(-5, 30, 5)]
    assert [(bar.start, bar.end, bar.rows) for bar in bars] == expected


def test_examples_in_docstrings_get_fences():
    fenced = script(DOCS / "doctests.py").fenced
    text = "Does it.\n\n>>> f(1)\n2\n\nAnd more.\n    >>> g()"
    assert fenced(text) == "Does it.\n\n\n```pycon\n>>> f(1)\n2\n```\n\nAnd more.\n\n    ```pycon\n    >>> g()\n    ```"
    assert fenced("nothing") == "nothing"
