"""A query in the words of a command line: `--window 'sliding 10 minutes every 1 minute' --aggregate 'max(temp)'`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from windrow import win
from windrow.cli.ending import Usage
from windrow.cli.query_parts import unknown
from windrow.cli.toml_file import TomlFile

#: kinds that take more than a line says
_IN_FILES = ("policy", "user_defined")
#: what stands here for the file's name in errors
NAME = "the query"


def from_words(windows: Sequence[str], aggregates: Sequence[str], **options: Any) -> TomlFile:
    """What a query file with the same query would say. Options that are None are left out."""
    content: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    named = [_named(text, win.__all__) for text in windows]
    if len(named) > 1 and any(name is None for name, _ in named):
        raise Usage("several windows need names: --window 'hour=tumbling 1 hour'")
    _different([name for name, _ in named if name is not None], "--window")
    tables = {name: window_table(text) for name, text in named}
    if list(tables) == [None]:
        content["window"] = tables[None]
    else:
        content["windows"] = tables
    pairs = [_aggregate(text) for text in aggregates]
    _different([name for name, _ in pairs], "--aggregate")
    if pairs:
        content["aggregates"] = dict(pairs)
    return TomlFile(NAME, content, {})


def window_table(text: str) -> dict[str, Any]:
    """A window as its table in a query file.

    >>> window_table("sliding 10 minutes every 1 minute")
    {'kind': 'sliding', 'range': '10 minutes', 'every': '1 minute'}
    >>> window_table("trailing 100 rows closed left")
    {'kind': 'trailing', 'range': 100, 'closed': 'left'}
    >>> window_table("punctuated price < 10")
    {'kind': 'punctuated', 'predicate': 'price < 10'}
    """
    kind, _, rest = text.strip().partition(" ")
    if kind not in win.__all__:
        raise Usage(f"--window {text!r}: {unknown('kind of window', kind, win.__all__)}")
    if kind in _IN_FILES:
        raise Usage(f"--window {text!r}: a window of kind {kind} needs a query file")
    names = list(inspect.signature(getattr(win, kind)).parameters)
    parts = re.split(rf"(?:^|\s+)({'|'.join(names)})\s+", " " + rest.strip())
    table: dict[str, Any] = {"kind": kind}
    if parts[0].strip():
        table[names[0]] = _value(parts[0])
    for name, value in zip(parts[1::2], parts[2::2], strict=True):
        if name in table:
            raise Usage(f"--window {text!r}: {name} is said twice")
        table[name] = _value(value)
    return table


def _value(text: str) -> Any:
    text = text.strip().rstrip(",")
    if number := re.fullmatch(r"([+-]?\d+)(?: rows?)?", text):
        return int(number[1])
    return float(text) if re.fullmatch(r"[+-]?\d*\.\d+", text) else text


def _named(text: str, kinds: Sequence[str]) -> tuple[str | None, str]:
    """The name before "=", where there is one before the kind."""
    found = re.match(rf"\s*([^\s=]+)\s*=\s*(?=(?:{'|'.join(kinds)})\b)", text)
    return (None, text) if found is None else (found[1], text[found.end() :])


def _aggregate(text: str) -> tuple[str, str]:
    """Name and call; without a name, `max(temp)` is called max_temp."""
    name, equals, call = text.partition("=")
    if equals and "(" not in name:
        return name.strip(), call.strip()
    return "_".join(re.findall(r"\w+", text)) or text, text.strip()


def _different(names: list[str], option: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise Usage(f"{option}: {name!r} is there {names.count(name)} times; give it another name, NAME=...")
