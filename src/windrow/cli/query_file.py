"""A query in TOML: read, checked, and refused with file, line and what would be right. See docs/command_line.md."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow import win
from windrow.cli import toml_file
from windrow.cli.query_parts import Parts, unknown
from windrow.cli.toml_file import TomlFile
from windrow.errors import Unsupported, WindrowError
from windrow.query import Query

if TYPE_CHECKING:
    import pyarrow as pa

#: the types by which [types] names what a column of a CSV or JSON file holds
TYPES = ("string", "int64", "float64", "bool", "timestamp", "date")
_TEXT, _FLAG, _NUMBER = "a text", "true or false", "a whole number"
#: which Python type a value has, where one tells
_TEXTS = "a list of texts"
_PYTHON: dict[str, type] = {_TEXT: str, _FLAG: bool, _NUMBER: int}
_KEYS: dict[str, str] = {
    "time": _TEXT,
    "time_unit": _TEXT,
    "by": "the name of a column, or a list of them",
    "lateness": _TEXT,
    "algorithm": _TEXT,
    "favor": _TEXT,
    "threads": _NUMBER,
    "changes_only": _FLAG,
    "partial": _FLAG,
    "emit": _TEXT,
    "strict": _FLAG,
    "window": "a table",
    "windows": "a table of tables, one for each window",
    "aggregates": "a table",
    "store": "a table",
    "types": "a table",
    "nulls": _TEXTS,
    "delimiter": _TEXT,
}
#: keys that are no options of a query
_ASIDE = ("window", "windows", "aggregates", "store", "types", "nulls", "delimiter")


class QueryFile:
    """A query and the file it is from.

    Args:
        given: the file, or what one would say.
        allow_code: names of Python code in it are imported.
        open_store: its store is opened; otherwise it only stands for itself in plans.
    """

    def __init__(self, given: Path | TomlFile, *, allow_code: bool = False, open_store: bool = False) -> None:
        self.given = given
        self.file: TomlFile = given if isinstance(given, TomlFile) else toml_file.read(given)
        self._check_keys()
        self.types: dict[str, str] = self._types()
        self.nulls: list[str] = self.file.content.get("nulls", [])
        self.delimiter: str = self._delimiter()
        parts = Parts(self.file, allow_code)
        content = self.file.content
        named = content.get("aggregates")
        if not isinstance(named, Mapping) or not named:
            self.file.refuse('aggregates are missing: a table such as [aggregates] longest = "max(len)"', "aggregates")
        aggregates = {name: parts.aggregate(given, "aggregates", name) for name, given in named.items()}
        windows = self._windows(parts)
        self.code_from = parts.code_from
        options = {k: v for k, v in content.items() if k not in _ASIDE}
        self.query = self._made(windows=windows, aggregates=aggregates, **options)
        if "store" in content:  # last: nothing is opened for a query that is refused
            store = parts.store(content["store"], open_store, Path(self.file.name).resolve().parent)
            self.query = self._made(windows=windows, aggregates=aggregates, store=store, **options)

    def _check_keys(self) -> None:
        for key, value in self.file.content.items():
            if key not in _KEYS:
                hint = "; a window is [window], or [windows.NAME]" if key in win.__all__ else ""
                self.file.refuse(unknown("key", key, _KEYS) + hint, key)
            wanted = _KEYS[key]
            right = isinstance(value, _PYTHON.get(wanted, dict))
            if key == "by":
                right = isinstance(value, str) or (
                    isinstance(value, list) and all(isinstance(name, str) for name in value)
                )
            if key == "nulls":
                right = isinstance(value, list) and all(isinstance(text, str) for text in value)
            if not right:
                self.file.refuse(f"{key!r} is {wanted}, not {value!r}", key)

    def _delimiter(self) -> str:
        said = self.file.content.get("delimiter", ",")
        found = {"\\t": "\t", "tab": "\t"}.get(said, said)
        if len(found) != 1 or found in '"\r\n' or not found.isascii():
            self.file.refuse(f"delimiter is one character, such as ';', or tab, not {said!r}", "delimiter")
        return found

    def _types(self) -> dict[str, str]:
        found = self.file.content.get("types", {})
        for column, kind in found.items():
            if kind not in TYPES:
                self.file.refuse(unknown("type", kind, TYPES), "types", column)
        return dict(found)

    def _windows(self, parts: Parts) -> Any:
        content = self.file.content
        if "window" in content and "windows" in content:
            self.file.refuse("give [window], or several by name as [windows.NAME], not both", "windows")
        if "window" in content:
            return parts.window(content["window"], "window")
        if not content.get("windows"):
            self.file.refuse('a window is missing: [window] kind = "sliding", range = "1 hour", every = "1 minute"')
        for name, given in content["windows"].items():
            if not isinstance(given, Mapping):
                self.file.refuse(f"windows by name are tables, [windows.NAME]; one window is [window], not {name!r}",
                                 "windows", name)  # fmt: skip
        return {name: parts.window(given, "windows", name) for name, given in content["windows"].items()}

    def _made(self, **arguments: Any) -> Query:
        try:
            return Query(**arguments)
        except WindrowError as error:
            self.file.refuse(str(error), *self._about(error))

    def _about(self, error: WindrowError) -> tuple[str, ...]:
        """The keys that an error of the query as a whole is about."""
        said = str(error)
        if named := self._aggregate_in(said):
            return named
        if isinstance(error, Unsupported):
            return ("algorithm",)
        for key in self.file.content:
            if said.startswith(f"{key} "):
                return (key,)
        if re.search(r"does not mix|measured by event time", said):
            return ("windows",) if "windows" in self.file.content else ("window",)
        return ("lateness",)  # the last that is read: a duration, or none

    def _aggregate_in(self, said: str) -> tuple[str, ...]:
        return next((("aggregates", name) for name in self.file.content["aggregates"] if repr(name) in said), ())

    # What only the data can tell, before any of it is read.

    def check_names(self, columns: list[str], where: str) -> None:
        """Refuses a column that the data does not have, with the line that names it."""
        for name, keys in self._named():
            if name not in columns:
                near = difflib.get_close_matches(name, columns, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                listed = ", ".join(columns[:30]) + (", ..." if len(columns) > 30 else "")
                self.file.refuse(f"{where} has no column {name!r}{hint} (it has {listed})", *keys)
        for name in self.types:
            if name not in columns:
                self.file.refuse(f"{where} has no column {name!r}", "types", name)

    def check_types(self, schema: pa.Schema, where: str) -> pa.Schema:
        """Refuses what the columns' types do not allow; the result's columns, as far as they can be told."""
        import pyarrow as pa

        from windrow.spark.shapes import result_schema  # needs no Spark

        self._check_time(schema, where)
        try:
            return result_schema(self.query, schema)
        except Exception as error:
            self._blame(schema, where)
            if isinstance(error, WindrowError) and "cannot be told" not in str(error):
                self.file.refuse(str(error), *self._aggregate_in(str(error)))
        return pa.schema([])  # an aggregate of one's own: the rows will tell

    def _check_time(self, schema: pa.Schema, where: str) -> None:
        import pyarrow as pa

        if self.query.time is not None:
            kind = schema.field(self.query.time).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind)):
                self.file.refuse(
                    f"column {self.query.time!r} of {where} holds {kind}; a time column holds timestamps, dates, or "
                    "integers (time_unit)", "time",
                )  # fmt: skip

    def _blame(self, schema: pa.Schema, where: str) -> None:
        """Finds the aggregate that does not go with the columns' types, and says so with its line."""
        from windrow.spark.shapes import result_schema

        inputs = self.query.inputs
        for name, aggregate in self.query.aggregates.items():
            columns = [source for column in aggregate.columns for source in self.query.sources(column)]
            try:
                alone = Query(windows=win.tumbling(1), aggregates={"it": aggregate})
                alone.inputs = {column: given for column, given in inputs.items() if column in aggregate.columns}
                result_schema(alone, schema)
            except WindrowError as error:
                if "cannot be told" in str(error):
                    continue
                held = ", ".join(f"{column!r} holds {schema.field(column).type}" for column in columns)
                said = re.sub(r", not '.*", "", str(error))  # a value that was made up
                self.file.refuse(f"{said}: in {where}, {held}", "aggregates", name)
            except Exception:
                continue  # of a user's own code: it will be heard when it runs

    def _named(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each column that the query names, with the keys that name it."""
        query = self.query
        found: list[tuple[str, tuple[str, ...]]] = [] if query.time is None else [(query.time, ("time",))]
        found += [(name, ("by",)) for name in query.by]
        for name, window in query.windows.items():
            keys = ("windows", name) if query.named else ("window",)
            found += [(column, keys) for column in window.columns]
        for name, aggregate in query.aggregates.items():
            columns = [source for column in aggregate.columns for source in query.sources(column)]
            found += [(column, ("aggregates", name)) for column in columns]
        return found
