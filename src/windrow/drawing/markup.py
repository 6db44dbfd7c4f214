"""HTML and SVG from Python: every text is escaped, every tag is closed."""

from __future__ import annotations

from html import escape
from typing import Any


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Escaped, unless it is markup; what XML cannot hold is replaced."""
    if isinstance(value, Markup):
        return value
    plain = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(value))
    return Markup(escape(plain))


def tag(name: str, *inside: Any, **attributes: Any) -> Markup:
    """One element; `class_` and the like lose their underscore, others become hyphens, None is left out.

    >>> tag("p", "1 < 2", class_="soft")
    '<p class="soft">1 &lt; 2</p>'
    """
    said = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{text(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = "".join(map(text, inside))
    return Markup(f"<{name}{said}>{body}</{name}>" if body or name not in _EMPTY else f"<{name}{said}/>")


_EMPTY = {"circle", "line", "rect", "path"}


def _number(value: Any) -> Any:
    """Places to a tenth of a pixel: the same bytes on every machine."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Markup:
    """A plain table."""
    top = tag("thead", tag("tr", *(tag("th", name) for name in head)))
    return tag("table", top, tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows)))


def folded(summary: str, plain: str) -> Markup:
    """Text that unfolds."""
    return tag("details", tag("summary", summary), tag("pre", plain))
