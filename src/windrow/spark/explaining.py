"""`Query.explain(df)`: which part Spark computes, which ours, what is exchanged and sorted, what it will cost."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

from windrow.local.intake import column_measures
from windrow.query import Query
from windrow.spark import chunks
from windrow.step.choosing import algorithms
from windrow.swag import ALGORITHMS

SPARK, OURS, EXCHANGE, SORT = "Spark", "ours", "exchange", "sort"


def explained(query: Query, steps: Sequence[tuple[str, str]]) -> str:
    """The steps by number, then their cost in words."""
    lines = [str(query), "", *(f"{i:>2}. {who:<9} {what}" for i, (who, what) in enumerate(steps, 1)), ""]
    return "\n".join(lines + [f"{label:<13} {text}" for label, text in costs(query, steps)])


def costs(query: Query, steps: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What moves, what is sorted, how many combines there are, what a worker holds."""
    sliced = any("slices" in what for who, what in steps if who == OURS)
    return [
        ("exchanged:", _counted(steps, EXCHANGE)),
        ("sorted:", _counted(steps, SORT)),
        ("combines:", f"one a row, then {_combines(query)} a slice" if sliced else f"{_combines(query)} a row"),
        ("in a worker:", _held(query, sliced)),
    ]


def _counted(steps: Sequence[tuple[str, str]], of: str) -> str:
    """How often all rows move, and how often only partials: one for each (key, slice) and task, at most one a row."""
    rows = sum(who == of and what.startswith("of the rows") for who, what in steps)
    partials = sum(who == of and what.startswith("of the partials") for who, what in steps)
    told = [f"all rows {'once' if rows == 1 else f'{rows} times'}"] if rows else []
    if partials:
        often = "once" if partials == 1 else "twice"
        told.append(f"partials {often}, one for each (key, slice) and task, at most as many as rows")
    return ", ".join(told)


def _combines(query: Query) -> str:
    """By the cards of the algorithms that keep the windows."""
    names = sorted(algorithms(query))
    each = " or ".join(f"{ALGORITHMS[name].card.a_row or 'a few'} ({name})" for name in names)
    return f"at most {each}{f' for each of the {len(query.windows)} windows' if len(query.windows) > 1 else ''}"


def _held(query: Query, sliced: bool) -> str:
    chunk = f"a chunk of {chunks.ROWS:,} rows or {chunks.BYTES >> 20} MB"
    if sliced:
        return f"{chunk}, and the slices of one key"
    if column_measures(query):
        return f"{chunk}, or all rows of one key: these windows follow a column"
    return f"{chunk}, and the rows of the windows that are open: no key has to fit"


def physical_plan(data: Any, mode: str = "formatted") -> str:
    """What Spark will do for a DataFrame, as `DataFrame.explain` prints it, in classic sessions and over Connect.

    Args:
        mode: as of `DataFrame.explain`: simple, extended, codegen, cost, formatted.
    """
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):  # the one way that both kinds of session offer
        data.explain(mode=mode)
    return printed.getvalue().strip()
