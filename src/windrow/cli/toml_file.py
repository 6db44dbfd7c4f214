"""A TOML file whose keys know their lines, which `tomllib` does not tell.

The file is cut into statements, each as few lines as `tomllib` itself can read: no grammar of our own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from windrow.cli.ending import Usage

Keys = tuple[str, ...]


@dataclass(frozen=True)
class TomlFile:
    """What a file says, and where."""

    name: str
    content: dict[str, Any]
    lines: dict[Keys, int]

    def refuse(self, why: str, *keys: str) -> NoReturn:
        """Raises `Usage` with the line of a key, or of the nearest table around it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        place = f"{self.name}:{self.lines[keys]}" if keys else self.name
        raise Usage(f"{place}: {why}")


def read(path: Path) -> TomlFile:
    """The file; `Usage` names the line where it is no TOML."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise Usage(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise Usage(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return TomlFile(str(path), tomllib.loads(text), dict(_lines(text)))
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", said)
        line = text.count("\n") + 1 if place is None or place[1] is None else int(place[1])
        raise Usage(f"{path}:{line}: {said[: place.start()] if place else said}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists ...
        raise Usage(f"{path}: cannot be read: {error}") from None


def _lines(text: str) -> Iterator[tuple[Keys, int]]:
    """The line of each key, of inline tables too; of a text that is whole.

    >>> dict(_lines('a = 1\\n[b.c]\\nd = {e = 2}\\n'))
    {('a',): 1, ('b',): 2, ('b', 'c'): 2, ('b', 'c', 'd'): 3, ('b', 'c', 'd', 'e'): 3}
    """
    table: Keys = ()
    statement, first = "", 1
    seen: set[Keys] = set()
    for number, line in enumerate(text.split("\n"), 1):
        if not statement:
            first = number
        statement += line + "\n"
        try:
            content = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue  # a value that goes on in the next line
        header = statement.lstrip().startswith("[")
        paths = list(_paths(content))
        if header:
            table = paths[-1]
        for keys in paths if header else [table + keys for keys in paths]:
            if keys not in seen:
                seen.add(keys)
                yield keys, first
        statement = ""


def _paths(content: Any, above: Keys = ()) -> Iterator[Keys]:
    for key, value in content.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
