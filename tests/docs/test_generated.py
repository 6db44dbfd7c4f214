"""What is made by a script is what the script makes now."""

from __future__ import annotations

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
    drawing = script(DOCS / "draw_windows.py")
    drawing.main(tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in (DOCS / "images").glob("*.svg")}
    windows = {f"window_{kind}.svg" for kind in [*win.__all__, "readme"]}
    recipes = {f"cookbook_{page.stem}.svg" for page in (DOCS / "cookbook").glob("*.md")} - {"cookbook_index.svg"}
    assert set(drawn) == set(kept) == windows | recipes | {"query_sensors.svg", "query_asking.svg", "updates.svg"}
    assert [name for name in drawn if drawn[name] != kept[name]] == [], "python docs/draw_windows.py"


def test_examples_in_docstrings_get_fences():
    fenced = script(DOCS / "doctests.py").fenced
    text = "Does it.\n\n>>> f(1)\n2\n\nAnd more.\n    >>> g()"
    assert fenced(text) == "Does it.\n\n\n```pycon\n>>> f(1)\n2\n```\n\nAnd more.\n\n    ```pycon\n    >>> g()\n    ```"
    assert fenced("nothing") == "nothing"
