"""Times in text files: ISO 8601, with or without a zone, one kind in a column."""

from __future__ import annotations

import datetime
import re

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import WindrowError

WRITTEN = "2024-05-01, 2024-05-01 06:10, 2024-05-01T06:10:30.25 or 2024-05-01T06:10:30+02:00"
_ZONE = r"[0-9] ?(Z|[+-]\d\d(:?\d\d)?)$"
_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)? ?(Z|[+-]\d\d(:?\d\d)?)?)?$"


def parsed(column: pa.ChunkedArray, kind: pa.DataType | None, name: str) -> pa.ChunkedArray:
    """A column of texts as timestamps of this type (None: microseconds, with a zone where the texts have one).

    A text that is no time becomes null, so that its row is rejected by name and number; where no text is one, the
    column is refused.

    >>> parsed(pa.chunked_array([["2024-05-01 06:10", "soon", None]]), None, "ts").to_pylist()
    [datetime.datetime(2024, 5, 1, 6, 10), None, None]
    """
    texts = pc.utf8_trim_whitespace(column)
    good = pc.match_substring_regex(texts, _TIME)
    if column.null_count < len(column) and not pc.any(good).as_py():
        first = next(value for value in column.to_pylist() if value is not None)
        raise WindrowError(f"column {name!r}: {first!r} is no time; write {WRITTEN}")
    texts = pc.if_else(good, texts, pa.scalar(None, pa.string()))
    zoned = pc.and_(pc.match_substring_regex(texts, _ZONE), pc.greater(pc.utf8_length(texts), 10))
    with_zone = pc.any(zoned).as_py() or False
    if kind is None:
        kind = pa.timestamp("us", "UTC" if with_zone else None)
    wanted = kind.tz is not None
    wrong = pc.not_equal(zoned, wanted)
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise WindrowError(
            f"column {name!r}, row {row}: times with and without a zone in one column: {texts[row].as_py()}"
        )
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:  # a 13th month, more digits than the type has, "+02"
        values = [None if text is None else _moment(text) for text in texts.to_pylist()]
        return pa.chunked_array([pa.array(values, kind)])


def _moment(text: str) -> datetime.datetime | None:
    """Python's own reading; digits beyond microseconds are cut off."""
    try:
        return datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    except ValueError:
        return None
