"""The page in a real browser."""

from __future__ import annotations

import pytest

from tests.watching.browser import CHROMIUM, Browser
from tests.watching.test_page import query, rows

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")


def test_the_page_shows_what_the_query_counts():
    """Before and after a thousand rows, and again after the connection was lost."""
    live = query().open()
    with live.serve() as page, Browser() as browser:
        port = int(page.address.rstrip("/").rsplit(":", 1)[1])
        browser.open(page.address)
        at = "document.getElementById({!r})?.textContent".format
        assert browser.until(at("rows_in"), "0") == "0"
        for first in range(0, 1000, 50):
            live.push(rows(first, 50))
        report = live.report
        assert browser.until(at("rows_in"), "1,000") == f"{report.rows_in:,}"
        assert browser.until(at("rows_out"), f"{report.rows_out:,}") == f"{report.rows_out:,}"
        assert browser.until("document.querySelectorAll('#picture .bar').length", 14) == 14
        page.source.counts()
        told = page.source.told()
        for name in ("late", "rejected", "watermark", "behind_newest", "keys", "bytes", "state"):
            assert browser.text(name) == {"late": "0", "rejected": "0", **told}[name], name
        assert browser.text("plan") == live.query.explain()
        assert browser.value("document.querySelectorAll('img').length") == 0  # a key that would be one
        assert browser.complaints() == []
        assert all(url.startswith(page.address) for url in browser.requests())
        page.close()
        assert browser.until("document.body.className", "lost") == "lost"
        with live.serve(port):
            live.push(rows(1000, 500))
            assert browser.until(at("rows_in"), "1,500") == "1,500"
            assert browser.until("document.body.className", "open") == "open"
