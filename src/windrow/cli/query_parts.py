"""Windows, aggregates and stores as a query file says them: tables of plain values, checked against our own functions.

What each takes is read off the function in `windrow.win` or `windrow.agg` itself, so there is one list of both.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from windrow import agg, stores, win
from windrow.aggregates.base import Aggregate
from windrow.cli.slide_policies import SlidePolicy
from windrow.cli.toml_file import TomlFile
from windrow.errors import WindrowError
from windrow.stores.memory import MemoryStore
from windrow.windows.base import Window
from windrow.windows.expressions import expr

AGGREGATES = [name for name in agg.__all__ if name != "join"]
_CALL = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
#: what a window is given as here, where its function says it otherwise
_RENAMED = {"user_defined": {"discretize": "class"}}
_STORES = {"memory": (), "rocksdb": ("path",), "redis": ("url",)}


class Parts:
    """Reads the parts of one file. `allow_code`: names of Python code may be in it."""

    def __init__(self, file: TomlFile, allow_code: bool) -> None:
        self.file, self.allow_code = file, allow_code
        self.code_from: str | None = None  # the folder that modules were looked for in

    def window(self, given: Any, *keys: str) -> Window:
        """A window from its table."""
        table = self._table(given, keys, 'kind = "sliding", range = "1 hour", every = "1 minute"')
        kind = self._kind(table, keys, win.__all__, "kind of window")
        make = getattr(win, kind)
        renamed = _RENAMED.get(kind, {})
        takes = {renamed.get(p.name, p.name): p for p in inspect.signature(make).parameters.values()}
        arguments = {name: value for name, value in table.items() if name != "kind"}
        self._known(arguments, takes, keys, f"window of kind {kind}")
        for name, parameter in takes.items():
            if parameter.default is parameter.empty and name not in arguments:
                self.file.refuse(f"a window of kind {kind} needs {name!r}", *keys)
        if kind in ("punctuated", "landmark"):
            self._text(arguments, "predicate" if kind == "punctuated" else "begin", keys)
        elif kind == "policy":
            arguments = self._policy(arguments, keys)
        elif kind == "user_defined":
            arguments["class"] = self._code(arguments["class"], (*keys, "class"))
        named = {takes[name].name: value for name, value in arguments.items()}
        return self._made(lambda: make(**named), keys)

    def _policy(self, arguments: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        self._text(arguments, "evict", keys)
        over = self._table(arguments["over"], (*keys, "over"), '{ n = "count()" }')
        made = {name: self.aggregate(given, *keys, "over", name) for name, given in over.items()}
        evict = SlidePolicy(arguments["evict"])
        self._made(lambda: evict.check(made), (*keys, "evict"))
        return {"evict": evict, "over": made}

    def aggregate(self, given: Any, *keys: str) -> Aggregate:
        """An aggregate from "max(len)", or from a table."""
        form = 'write "max(len)" or { function = "max", columns = ["len"] }'
        if isinstance(given, str):
            call = _CALL.fullmatch(given)
            if call is None:
                self.file.refuse(f"{given!r} is no aggregate: {form}", *keys)
            columns = [column.strip() for column in call[2].split(",")] if call[2].strip() else []
            if any("=" in column for column in columns):
                self.file.refuse(f'{given!r}: options need the long form, {{ function = "{call[1]}", ... }}', *keys)
            return self._aggregate(call[1], columns, {}, keys)
        if not isinstance(given, Mapping):
            self.file.refuse(f"an aggregate is a text or a table, not {given!r}: {form}", *keys)
        options = {name: value for name, value in given.items() if name not in ("function", "code", "columns")}
        columns = self._columns(given.get("columns", []), (*keys, "columns"))
        if ("function" in given) == ("code" in given):
            near = difflib.get_close_matches("function", options, 1)
            hint = f"; did you mean {near[0]!r} to be that?" if near else ""
            self.file.refuse(f"an aggregate needs 'function' (or 'code'){hint}", *keys)
        if "function" in given:
            return self._aggregate(given["function"], columns, options, keys)
        self._known(options, (), keys, "aggregate from code")
        code = self._code(given["code"], (*keys, "code"))
        if not isinstance(code, Aggregate):
            self.file.refuse(f"{given['code']} is no windrow.Aggregate", *keys, "code")
        return self._made(lambda: code(*columns), keys)

    def _aggregate(self, name: Any, columns: list[str], options: dict[str, Any], keys: tuple[str, ...]) -> Aggregate:
        if name not in AGGREGATES:
            self.file.refuse(unknown("aggregate", name, AGGREGATES), *keys)
        make = getattr(agg, name)
        parameters = inspect.signature(make).parameters
        self._known(options, [p for p in parameters if p not in ("column", "columns")], keys, f"aggregate {name}")
        if "columns" not in parameters and len(columns) > 1:
            self.file.refuse(f"{name} takes one column, not {len(columns)}", *keys)
        made = self._made(lambda: make(*columns, **options), keys)
        if not columns and made.arity[0] > 0:
            self.file.refuse(f"{name} needs a column: {name}(x)", *keys)
        return made

    def store(self, given: Any, opened: bool, folder: Path) -> Any:
        """The store, opened; or one that only says what it would be, and touches neither disk nor network."""
        table = self._table(given, ("store",), 'kind = "rocksdb", path = "state"')
        kind = self._kind(table, ("store",), list(_STORES), "store")
        takes = _STORES[kind]
        self._known(
            {name: value for name, value in table.items() if name != "kind"}, takes, ("store",), f"{kind} store"
        )
        for name in takes:
            self._text(table, name, ("store",))
        if kind == "rocksdb":
            path = folder / table["path"]
            return stores.rocksdb(path) if opened else Unopened(f"stores.rocksdb({str(path)!r})")
        if kind == "redis":
            return stores.redis(table["url"]) if opened else Unopened("stores.redis(...)")
        return stores.memory()

    # What all of them check.

    def _made(self, make: Callable[[], Any], keys: tuple[str, ...]) -> Any:
        try:
            return make()
        except (WindrowError, TypeError, ValueError) as error:
            said = str(error)
            found = {key: self._mentioned(said, (*keys, key)) for key in self._inside(keys)}
            nearest = min((key for key in found if found[key] >= 0), key=lambda key: found[key], default=None)
            self.file.refuse(re.sub(r"^win\.\w+: ", "", said), *keys, *(() if nearest is None else (nearest,)))

    def _inside(self, keys: tuple[str, ...]) -> list[str]:
        return [inner[-1] for inner in self.file.lines if inner[:-1] == keys]

    def _mentioned(self, said: str, keys: tuple[str, ...]) -> int:
        """Where a message speaks of a key, by its name or its value; -1: nowhere."""
        value: Any = self.file.content
        for key in keys:
            value = value[key]
        named = re.search(rf"\b{re.escape(keys[-1])}\b", said)
        at = [said.find(repr(value)) if isinstance(value, str) else -1, named.start() if named else -1]
        return min((place for place in at if place >= 0), default=-1)

    def _table(self, given: Any, keys: tuple[str, ...], example: str) -> Mapping[str, Any]:
        if not isinstance(given, Mapping):
            self.file.refuse(f"{keys[-1]!r} is a table such as {example}, not {given!r}", *keys)
        return given

    def _kind(self, table: Mapping[str, Any], keys: tuple[str, ...], kinds: Iterable[str], what: str) -> str:
        kinds = list(kinds)
        if "kind" not in table:
            self.file.refuse(f"{'.'.join(keys)} needs 'kind': one of {', '.join(kinds)}", *keys)
        if table["kind"] not in kinds:
            self.file.refuse(unknown(what, table["kind"], kinds), *keys, "kind")
        return table["kind"]

    def _known(self, given: Iterable[str], known: Iterable[str], keys: tuple[str, ...], what: str) -> None:
        for name in given:
            if name not in known:
                self.file.refuse(f"{unknown('key', name, known)} (of a {what})", *keys, name)

    def _text(self, table: Mapping[str, Any], name: str, keys: tuple[str, ...]) -> None:
        if name not in table:
            self.file.refuse(f"{'.'.join(keys)} needs {name!r}", *keys)
        if not isinstance(table[name], str) or not table[name].strip():
            self.file.refuse(f"{name!r} is a text, not {table[name]!r}", *keys, name)

    def _columns(self, given: Any, keys: tuple[str, ...]) -> list[str]:
        columns = [given] if isinstance(given, (str, Mapping)) else given
        if not isinstance(columns, list):
            self.file.refuse(f"columns are names of columns, not {given!r}", *keys)
        return [self._column(column, keys) for column in columns]

    def _column(self, given: Any, keys: tuple[str, ...]) -> str:
        """A column's name, or an expression: { expr = "price * volume" }."""
        if isinstance(given, Mapping) and list(given) == ["expr"]:
            return self._made(lambda: expr(given["expr"]), keys)
        if not isinstance(given, str):
            self.file.refuse(f'columns are names of columns, or {{ expr = "price * volume" }}, not {given!r}', *keys)
        return given

    def _code(self, given: Any, keys: tuple[str, ...]) -> Any:
        """What a text "module:Name" stands for; the module is looked for beside the file first."""
        if not isinstance(given, str) or not re.fullmatch(r"[\w.]+:\w+", given):
            self.file.refuse(f"code is named as 'module:Name', not {given!r}", *keys)
        if not self.allow_code:
            self.file.refuse(f"{given} is Python code, which runs only with --allow-code", *keys)
        module, name = given.split(":")
        self.code_from = str(Path(self.file.name).resolve().parent)
        if self.code_from not in sys.path:
            sys.path.insert(0, self.code_from)
        try:
            return getattr(importlib.import_module(module), name)
        except Exception as error:  # whatever the module does
            self.file.refuse(f"{given} cannot be loaded: {type(error).__name__}: {error}", *keys)


class Unopened(MemoryStore):
    """Stands for a store that is not to be opened: for plans."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    def __repr__(self) -> str:
        return self.said


def unknown(what: str, name: Any, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(str(name), known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}" if known else "there are none"
    return f"unknown {what} {name!r}; {hint}"
