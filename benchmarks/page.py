"""HTML pages that need nothing but themselves: tags from Python, everything escaped, pictures inlined."""

from __future__ import annotations

import base64
import html
import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, *content: Any, **attributes: Any) -> Html:
    """An element. What is not `Html` is escaped; a trailing underscore of an attribute is dropped (`class_`).

    >>> tag("p", "a < b", tag("b", "c"), class_="note")
    '<p class="note">a &lt; b<b>c</b></p>'
    >>> tag("img", src="x", alt='say "x"')
    '<img src="x" alt="say &quot;x&quot;">'
    """
    given = "".join(f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items())
    if name in ("img", "br", "meta"):
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(content)}</{name}>")


def join(content: Iterable[Any]) -> Html:
    """One after the other, escaped where it must be."""
    return Html("".join(part if isinstance(part, Html) else html.escape(str(part)) for part in content))


def table(head: Sequence[Any], lines: Iterable[Sequence[Any]], caption: str = "", numbers: Sequence[int] = ()) -> Html:
    """A table, the first cell of a line being its name; columns of `numbers` stand to the right."""

    def cell(i: int, content: Any, scope: str) -> Html:
        attributes = {"scope": scope} if scope else {}
        return tag("th" if scope else "td", content, **attributes, class_="number" if i in numbers else "text")

    def line_of(parts: Sequence[Any], scope: str) -> Html:
        return tag("tr", *(cell(i, part, scope if scope == "col" or i == 0 else "") for i, part in enumerate(parts)))

    body = tag("tbody", *(line_of(line, "row") for line in lines))
    inside = (tag("caption", caption) if caption else "", tag("thead", line_of(head, "col")), body)
    return tag("div", tag("table", *inside), class_="wide")


def picture(png: Path | bytes, alt: str, caption: Any = "") -> Html:
    """A picture inside the page."""
    data = png if isinstance(png, bytes) else png.read_bytes()
    source = "data:image/png;base64," + base64.b64encode(data).decode("ascii")
    return tag("figure", tag("img", src=source, alt=alt), tag("figcaption", caption) if caption else "")


def page(title: str, *content: Any) -> str:
    """The whole document. Its security policy forbids every request, whatever is in it."""
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return string.Template(template).substitute(title=html.escape(title), content=join(content))
