"""How many slices a window is put together from, and what that costs: the formulas, and what is counted.

Asked: Panes, Pairs, Cutty and a slice per row (RA) for one window of rows, for range 10 and slide 3 as in Fig. 7, and
for others; each run over 40 ranges of rows. `query` is a `windrow.Query`, pushed row by row; the others are the model
of `benchmarks/slicing.py`.

Found by paper 3 (Table 1): to keep, Cutty ⌈r/s⌉ + 1, Pairs ⌈2r/s⌉, Panes r/gcd(r, s), RA r; in a tree twice that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results, slicing
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.stepping import stepped
from windrow import agg, swag, win

#: range and slide
SIZES = ((10, 3), (10, 5), (60, 7), (64, 16), (100, 30), (1000, 37), (1000, 100))


def run(settings: Settings) -> list[Row]:
    rows: list[Row] = []
    sizes = settings.pick(SIZES[:2], SIZES, SIZES, SIZES)
    for r, s in settings.track(sizes, "slices"):
        number = settings.pick(4, 10, 40, 100) * r
        for technique in ("cutty", "pairs", "panes", "ra"):
            cut_at = slicing.cuts(technique, [(r, s)], number)
            for store in ("lazy", "eager"):
                counts = slicing.modelled(cut_at, slicing.periodic([(r, s)], number), number, store)
                rows.append(measured(technique, store, r, s, counts))
        rows.append(measured("query", "query", r, s, queried(r, s, number)))
    return rows


def queried(r: int, s: int, rows: int) -> slicing.Counts:
    """A query, row by row."""
    query = windrow.Query(windows=win.sliding(r, every=s), aggregates={"total": swag.counting(agg.sum("x"))})
    return stepped(query, {"x": np.ones(rows, np.int64)})


def measured(technique: str, store: str, r: int, s: int, counts: slicing.Counts) -> Row:
    """One window over one stream: what Table 1 says and what is counted. A query cuts where Cutty does."""
    how, lazy = "cutty" if technique == "query" else technique, store == "lazy"
    said = slicing.table(how, r, s)
    return {
        "range": r, "slide": s, "window": f"{r} every {s}", "technique": technique, "store": store,
        "rows": counts.rows, "in_a_window": len(slicing.cuts(how, [(r, s)], r)), "most": counts.most,
        "space": said.space_lazy, "slots": counts.slots,
        "space_in_store": said.space_lazy if lazy else said.space_eager, "partials": counts.slices,
        "update_a_row": (counts.update + counts.fill) / counts.rows,
        "update_in_table_1": said.update_lazy if lazy else said.update_amortised,
        "merge_a_window": counts.merge / max(counts.windows, 1),
        "merge_in_table_1": said.merge_lazy if lazy else said.merge_eager,
    }  # fmt: skip


def notes(rows: Sequence[Row]) -> list[str]:
    """Counted beside the formulas."""
    return [
        f"{row['window']}, {row['technique']}, {row['store']}: {row['in_a_window']} slices a window, at most "
        f"{row['most']} at a time, the open one included (Table 1: {row['space']}); "
        f"update {row['update_a_row']:.2f} combines a row "
        f"({row['update_in_table_1']:.2f}), merge {row['merge_a_window']:.1f} a window ({row['merge_in_table_1']:.1f})"
        for row in rows
        if row["window"] in ("10 every 3", "1000 every 37")
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Table 1's space, counted: the slice that is still open is one more."""
    formulas = {"query": "⌈r/s⌉ + 1", "cutty": "⌈r/s⌉ + 1", "pairs": "⌈2r/s⌉", "panes": "r/gcd(r, s)", "ra": "r"}
    found = []
    for technique, formula in formulas.items():
        own = [r for r in rows if r["technique"] == technique and r["store"] != "eager"]
        within = sum(r["most"] <= r["space"] + 1 for r in own)
        example = own[0]
        found.append(
            Claim(
                f"{technique} keeps {formula} partials, and the slice that is still open",
                f"{technique} {example['most']} for {example['window']} (formula {example['space']}), {within} of "
                f"{len(own)} within",
                within == len(own),
            )
        )
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, [row for row in rows if row["store"] != "lazy"], "window"):
        names = [row["technique"] for row in own]
        for shift, what, label in ((-0.2, "most", "counted"), (0.2, "space", "Table 1")):
            axes.bar([i + shift for i in range(len(own))], [row[what] for row in own], 0.4, label=label)
        axes.set_xticks(range(len(own)), names)
        axes.set_yscale("log")
        axes.set_ylabel("partials")


EXPERIMENT = Experiment(
    name="slices",
    title="slices of one window, counted and by formula",
    paper="3 Tab. 1, Fig. 7",
    expected="Cutty ⌈r/s⌉+1, Pairs ⌈2r/s⌉, Panes r/gcd",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("window", "store", "technique"), "most", "partials at a time", baseline="pairs"),
    asked="Into how many slices do Panes, Pairs and Cutty cut one window, and how many partials must be kept? "
    "Counted, beside the formulas of Table 1, and what a query keeps.",
    claims=claims,
)
