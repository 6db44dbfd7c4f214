"""The page: what it shows, and who serves it."""

from __future__ import annotations

from importlib.resources import files
from types import TracebackType
from typing import Any, Protocol

from windrow.drawing.markup import Markup, tag
from windrow.drawing.style import sheet
from windrow.watching.feed import Feed, Rates
from windrow.watching.server import Answer, Server

#: counters of a source, and what they are called
COUNTS = {"rows_in": "rows in", "rows_out": "results", "late": "late rows", "rejected": "rejected rows"}
#: what else a source may tell, in words
TOLD = {
    "watermark": "watermark",
    "behind_newest": "behind the newest row",
    "behind_clock": "behind the clock",
    "keys": "keys",
    "bytes": "state",
}
_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


class Source(Protocol):
    """What a page shows. It is read by a thread of the page's, which must neither wait for the query nor stop it."""

    title: str
    pictured: str  # what the picture shows
    plan: str

    def counts(self) -> dict[str, int]:
        """`COUNTS`, all from one moment between two calls of the query."""

    def told(self) -> dict[str, str]:
        """`TOLD`, as texts, from the same moment as the last `counts`; and `state`, such as "running"."""

    def picture(self) -> str:
        """The newest windows as SVG without a style sheet; the same object as long as nothing has changed."""


class Page:
    """A page that runs until `close()`, or to the end of a `with` block. `address` is where."""

    def __init__(self, source: Source, host: str = "127.0.0.1", port: int = 0) -> None:
        self.source = source
        self._rates = Rates("rows_in", "rows_out")
        self._feed = Feed(self._read)
        paths = {
            "/": lambda: Answer("text/html; charset=utf-8", self._html()),
            "/page.js": lambda: Answer(_TYPES["js"], _file("page.js").encode()),
            "/page.css": lambda: Answer(_TYPES["css"], (sheet() + _file("page.css")).encode()),
            "/events": lambda: Answer("text/event-stream; charset=utf-8", self._feed.events()),
        }
        try:
            self._server = Server(paths, host, port, "windrow-page")
        except BaseException:
            self._feed.close()
            raise
        self.address = self._server.address

    def _read(self) -> dict[str, Any]:
        try:
            return self._now()
        except Exception as error:  # the page says it; the query goes on
            return {"texts": {"state": f"cannot be shown: {type(error).__name__}: {error}"}, "lines": {}, "picture": ""}

    def _now(self) -> dict[str, Any]:
        counts = self.source.counts()
        texts = {name: f"{count:,}" for name, count in counts.items()}
        rates = self._rates.add(counts)
        texts |= {f"{name}_rate": f"{rate:,.0f} per second" for name, rate in rates.items()}
        lines = {name: line(list(values)) for name, values in self._rates.history.items()}
        return {"texts": {**texts, **self.source.told()}, "lines": lines, "picture": self.source.picture()}

    def _html(self) -> bytes:
        counters = [
            tag(
                "div",
                tag("dt", name),
                tag("dd", "–", id=field),
                *([tag("dd", "", id=f"{field}_rate", class_="soft"), tag("div", id=f"{field}_line")]
                  if field in self._rates.names else []),
                class_="card",
            )
            for field, name in COUNTS.items()
        ]  # fmt: skip
        told = [tag("div", tag("dt", name), tag("dd", "–", id=field), class_="card") for field, name in TOLD.items()]
        body = [
            tag("header", tag("h1", self.source.title), tag("p", "connecting", id="state", role="status")),
            tag("dl", *counters, class_="counts"),
            tag("dl", *told, class_="told"),
            tag("section", tag("h2", self.source.pictured), tag("div", id="picture")),
            tag("details", tag("summary", "The plan"), tag("pre", self.source.plan, id="plan")),
        ]
        head = Markup(
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
            '<link rel="icon" href="data:,"><link rel="stylesheet" href="page.css">'
            '<script src="page.js" defer></script>'
        )
        page = tag("html", tag("head", head, tag("title", f"{self.source.title} · windrow")), tag("body", *body))
        return ("<!doctype html>" + page.replace("<html>", '<html lang="en">', 1)).encode()

    def close(self) -> None:
        """The page goes; the query goes on."""
        self._feed.close()
        self._server.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Page {self.address}>"

    def _repr_html_(self) -> str:
        return tag("a", self.address, href=self.address)


def line(values: list[float], width: int = 120, height: int = 24) -> str:
    """Values as a small line, the newest on the right."""
    most = max(values, default=0.0) or 1.0
    step = width / max(len(values) - 1, 1)
    points = " ".join(f"{i * step:.0f},{height - 2 - v / most * (height - 4):.0f}" for i, v in enumerate(values))
    return tag(
        "svg", tag("polyline", points=points), xmlns="http://www.w3.org/2000/svg", class_="line",
        viewBox=f"0 0 {width} {height}", width=width, height=height,
    )  # fmt: skip


def _file(name: str) -> str:
    return files("windrow.watching").joinpath(name).read_text(encoding="utf-8")
