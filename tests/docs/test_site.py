"""The documentation is built without a warning, no link in it is broken, and it asks no other machine for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from tests.docs.blocks import PAGES, ROOT
from windrow import agg, errors, spark, stores, swag, win


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("href") and given.get("rel") not in ("prev", "next", "canonical"):
            self.loads.append(given["href"])
        elif given.get("src"):
            self.loads.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def test_links_and_anchors(pages):
    broken, checked = [], 0
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or (parts.fragment and target in pages and not anchored(pages[target], parts)):
                broken.append(f"{path.name}: {link}")
    assert not broken
    assert checked > 500


def anchored(page, parts):
    return unquote(parts.fragment) in page.anchors or parts.fragment.startswith("__")  # the theme's own switches


def test_nothing_is_fetched(site, pages):
    assert not [load for page in pages.values() for load in page.loads if urlsplit(load).netloc]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text()), sheet.name


def test_the_search_index_is_there_for_pages_from_disk(site):
    assert (site / "search" / "search_index.js").stat().st_size > 100_000


def test_every_name_has_its_place(site, pages):
    """Each window kind a page, each public name a place in the reference, each algorithm a card."""

    def in_reference(page):
        return {anchor.rsplit(".", 1)[-1] for anchor in pages[site / "reference" / f"{page}.html"].anchors}

    for module, page in ((win, "win"), (agg, "agg"), (stores, "stores"), (spark, "spark")):
        assert set(module.__all__) <= in_reference(page)
    assert {name for name, thing in vars(errors).items() if isinstance(thing, type)} <= in_reference("errors")
    assert {"Query", "run", "open", "Live", "push", "Report"} <= in_reference("query")
    assert {"Swag", "insert", "evict", "slide", "counting"} <= in_reference("swag")
    for kind in win.__all__:
        assert (site / "windows" / f"{kind}.html").is_file()
    assert set(swag.ALGORITHMS) <= pages[site / "cards.html"].anchors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_sources(page):
    """Pages are read where the repository is, too: what they link to is beside them."""
    targets = []
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        for child in token.children or []:
            targets += [child.attrs[name] for name in ("href", "src") if name in child.attrs]
    for target in targets:
        parts = urlsplit(target)
        if not parts.scheme and parts.path:
            assert (page.parent / Path(unquote(parts.path))).exists(), target
