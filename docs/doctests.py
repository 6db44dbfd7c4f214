"""For the API reference: examples in docstrings become code blocks, since Markdown reads `>>>` as quotations."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with a fence around each example: from a prompt to the next empty line."""
    lines: list[str] = []
    inside, margin = False, ""
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            inside, margin = True, line[: len(line) - len(line.lstrip())]
            lines += ["", f"{margin}```pycon"]
        elif inside and not line.strip():
            inside = False
            lines.append(f"{margin}```")
        lines.append(line)
    return "\n".join([*lines, f"{margin}```"] if inside else lines)


class Doctests(griffe.Extension):
    """Puts the fences where griffe has read a docstring."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
