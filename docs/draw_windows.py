"""Draws how rows fall into windows: pictures for docs/windows, the cookbook, docs/see_your_query.md and the README.

python docs/draw_windows.py [FOLDER]

Nothing is drawn by hand: the first example of a page is run, and its query draws its rows (`Query.draw`). The same
rows give the same bytes: a test tells whether pictures are current.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"


def example(page: Path) -> dict[str, Any]:
    """The names that a page's first example defines."""
    block = re.search(r"^```(?:pycon|python)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None, f"{page} has no example"
    names: dict[str, Any] = {"__name__": "__main__"}
    for part in doctest.DocTestParser().get_examples(block[1]):
        if not part.source.startswith("print"):
            exec(compile(part.source, str(page), "exec"), names)
    return names


def pages() -> dict[str, Path]:
    """The pages whose example is drawn, by the file's name."""
    found = {f"window_{page.stem}": page for page in sorted((DOCS / "windows").glob("*.md"))}
    recipes = sorted(page for page in (DOCS / "cookbook").glob("*.md") if page.stem != "index")
    found |= {f"cookbook_{page.stem}": page for page in recipes}
    return {**found, "window_readme": DOCS.parent / "README.md", "query_sensors": DOCS / "see_your_query.md"}


def main(folder: str | Path = IMAGES) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        names = example(page)
        names["query"].draw(names["rows"]).save(Path(folder) / f"{name}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
