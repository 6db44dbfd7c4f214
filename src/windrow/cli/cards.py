"""`windrow algorithms`: the cards, and which of them can do what is asked."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from windrow import agg, swag
from windrow.cli.ending import Usage
from windrow.cli.query_parts import AGGREGATES
from windrow.errors import Unsupported

#: options that some aggregates cannot be made without; of no matter here
_NEEDED: dict[str, dict[str, Any]] = {
    "first_n": {"n": 1},
    "last_n": {"n": 1},
    "top_k": {"k": 1},
    "histogram": {"edges": [0, 1]},
    "approx_percentile": {"q": 0.5},
}


def chosen(
    words: Sequence[str], aggregate: str | None, out_of_order: bool, worst_case: bool, bulk: bool
) -> dict[str, swag.Card]:
    """The cards that hold all words and do all that is asked."""
    found = {}
    for name, algorithm in swag.ALGORITHMS.items():
        card = algorithm.card
        said = [value for value in dataclasses.asdict(card).values() if isinstance(value, str)]
        text = " ".join([name, name.replace("_", " "), *said]).lower()
        if (
            all(word.lower() in text for word in words)
            and (not out_of_order or "any" in card.order)
            and (not worst_case or "worst O(1)" in card.time)
            and (not bulk or "bulk" in card.time or "at once" in card.time)
            and (aggregate is None or _accepts(name, aggregate))
        ):
            found[name] = card
    if not found:
        asked = " ".join(map(repr, words)) or "all of that"
        near = difflib.get_close_matches(" ".join(words), swag.ALGORITHMS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(swag.ALGORITHMS)}"
        raise Usage(f"no algorithm's card has {asked}; {hint}")
    return found


def show(console: Console, cards: dict[str, swag.Card], as_json: bool) -> None:
    """The cards as a table, or as JSON."""
    if as_json:
        print(json.dumps([{"name": name, **dataclasses.asdict(card)} for name, card in cards.items()], indent=2))
        return
    table = Table(title="windrow.swag.ALGORITHMS", title_justify="left")
    table.add_column("name", no_wrap=True)
    for column in ("order", "requires", "time (combines)", "space (partials)", "paper", "note"):
        table.add_column(column, overflow="fold")
    for name, card in cards.items():
        table.add_row(name, card.order, card.requires, card.time, card.space, card.paper, card.note)
    console.print(table)


def _accepts(name: str, aggregate: str) -> bool:
    if aggregate not in AGGREGATES:
        near = difflib.get_close_matches(aggregate, AGGREGATES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(AGGREGATES)}"
        raise Usage(f"unknown aggregate {aggregate!r}; {hint}")
    try:
        swag.ALGORITHMS[name](getattr(agg, aggregate)(**_NEEDED.get(aggregate, {})))
    except Unsupported:
        return False
    return True
