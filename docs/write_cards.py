"""Writes docs/cards.md, the page of all algorithms, from `swag.ALGORITHMS`.

python docs/write_cards.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from windrow import swag

PAGE = Path(__file__).resolve().parent / "cards.md"
HEAD = """# The cards

Every algorithm of `windrow.swag`, from `swag.ALGORITHMS`. The numbered papers:

1. Tangwongsan, Hirzel, Schneider, Wu: *General Incremental Sliding-Window Aggregation* (VLDB 2015)
2. Tangwongsan, Hirzel, Schneider: *Constant-Time Sliding Window Aggregation* (IBM Research Report)
3. Carbone, Traub, Katsifodimos, Haridi, Markl: *Cutty: Aggregate Sharing for User-Defined Windows* (CIKM 2016)
4. Villalba, Berral, Carrera: *Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient Bulk
   Evictions*
5. Shein, Chrysanthis, Labrinidis: *FlatFIT: Accelerated Incremental Sliding-Window Aggregation For Real-Time Analytics*
   (SSDBM 2017)

Time is counted in combines per operation, space in partials for n rows. [Choosing one](choosing.md) says when to use
which.
"""


def about(algorithm: type[swag.Swag]) -> str:
    """What the algorithm's file says of it first."""
    text = (algorithm.__doc__ or sys.modules[algorithm.__module__].__doc__ or "").split("\n\n")[0]
    return " ".join(text.split())


def card(name: str, algorithm: type[swag.Swag]) -> str:
    """One algorithm."""
    facts = algorithm.card
    rows = {
        "class": f"`swag.{algorithm.__name__}`, in `{algorithm.__module__.replace('.', '/')}.py`",
        "order": facts.order,
        "asks of the aggregate": facts.requires,
        "time": facts.time,
        "space": facts.space,
        "paper": facts.paper,
    }
    if facts.note:
        rows["note"] = facts.note
    table = "\n".join(f"| {label} | {escaped(value)} |" for label, value in rows.items())
    return f"## {name}\n\n{about(algorithm)}\n\n| | |\n|---|---|\n{table}\n"


def escaped(text: str) -> str:
    """A cell's text: bars end a cell, and two stars around it would make it bold."""
    return text.replace("|", "\\|").replace("*", "\\*")


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(card(name, algorithm) for name, algorithm in swag.ALGORITHMS.items())])


if __name__ == "__main__":
    PAGE.write_text(page())
