"""The same work by the libraries people use for it, one thread everywhere.

Asked: million rows a second of `TwoStacksLite(...).slide` and of pandas, Polars, bottleneck, numbagg and DuckDB, for
windows of 16, 1,000 and 100,000 float64 rows, each answering from the first row on (min_periods=1); and whether a
peer's answers depend on rows that have left the window (the history test). All of it in one child process with one
thread; a copy of the column is the limit. Answers of every peer are compared with ours before anything is timed.
`user's own` is the largest rise within the window, three Python lambdas for windrow, a compiled or a NumPy function
of the window for pandas and Polars.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks import child, machine, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import medians, span
from windrow.errors import WindrowError

PACKAGES = ("pandas", "polars", "bottleneck", "numbagg", "duckdb")


def run(settings: Settings) -> list[Row]:
    aggregates = (
        ["max"] if settings.level == "smoke" else ["min", "max", "arg-max", "sum", "mean", "stddev", "user's own"]
    )
    argument: dict[str, Any] = {
        "rows": settings.pick(2_000, 500_000, 5_000_000, 5_000_000),
        "windows": settings.pick([16], [16, 1000, 100_000], [16, 1000, 100_000], [16, 1000, 100_000]),
        "aggregates": aggregates,
        "repetitions": settings.repetitions,
        "seconds": settings.pick(0.05, 0.12, 0.3, 20.0),  # for one run: beyond it, fewer rows
        "growth": settings.pick([4, 64], [2**10, 2**17], [2**10, 2**20], [2**10, 2**20]),
        "history": ["sum"] if settings.level == "smoke" else ["sum", "mean", "stddev"],
        "seed": settings.seed,
    }
    if not any(machine.version(package) for package in PACKAGES):
        raise WindrowError(f"peers needs one of {', '.join(PACKAGES)}: pip install '.[bench]'")
    rows: list[Row] = []
    parts = len(aggregates) * len(argument["windows"]) + len(aggregates) + 1
    steps = iter(settings.track(range(parts), "peers"))
    for found in child.lines(child.calling("benchmarks.peers_child", "main"), argument, child.ONE_THREAD):
        next(steps, None)
        rows += found
    for _ in steps:
        pass
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """windrow against the fastest peer, the growth of its cost, the history test, what disagreed."""
    said = []
    rate = [row for row in rows if row["kind"] == "rate"]
    lines = results.summary(Measure(BY, "mrows", ""), rate)
    tested = [row for row in rows if row["kind"] == "history"]
    forgetful = {(row["library"], row["aggregate"]) for row in tested} - {
        (row["library"], row["aggregate"]) for row in tested if not row["passed"]
    }
    for key in dict.fromkeys((line["aggregate"], line["window"]) for line in lines):
        own = {line["library"]: line["median"] for line in lines if (line["aggregate"], line["window"]) == key}
        ours = own.pop("windrow", None)
        if ours is not None and own:
            best = max(own, key=lambda name: own[name])
            said.append(
                f"{key[0]}, w={key[1]:,}: windrow {ours / own[best]:.2f}x the fastest peer "
                f"({best}, {own[best]:,.1f} M rows/s)"
            )
            passing = {name: value for name, value in own.items() if (name, key[0]) in forgetful}
            if passing and best not in passing:
                best = max(passing, key=lambda name: passing[name])
                said[-1] += f", {ours / passing[best]:.2f}x the fastest that passes the history test ({best})"
    copies = [row["mrows"] for row in rows if row["kind"] == "copy"]
    said.append(
        f"a copy of the column: {statistics.median(copies):,.0f} M rows/s ({min(copies):,.0f} - {max(copies):,.0f})"
    )
    for aggregate in dict.fromkeys(row["aggregate"] for row in rows if row["kind"] == "growth"):
        cost = results.summary(
            Measure(("window",), "ns_a_row", "", kind="growth"), [r for r in rows if r.get("aggregate") == aggregate]
        )
        first, last = cost[0], cost[-1]
        said.append(
            f"{aggregate}: a row costs {last['median'] / first['median']:.2f}x at w={last['window']:,} "
            f"of what it costs at w={first['window']:,}"
        )
    for library in dict.fromkeys(row["library"] for row in tested):
        verdicts = []
        for aggregate in dict.fromkeys(row["aggregate"] for row in tested if row["library"] == library):
            cases = [row for row in tested if (row["library"], row["aggregate"]) == (library, aggregate)]
            failed = [str(row["poison"]) for row in cases if not row["passed"]]
            verdicts.append(f"{aggregate} {'fail after ' + ', '.join(failed) if failed else 'pass'}")
        said.append(f"history, {library}: {'; '.join(verdicts)}")
    checked = [row for row in rows if row["kind"] == "check"]
    wrong = [row for row in checked if not row["agrees"]]
    missing = [package for package in PACKAGES if not machine.version(package)]
    if missing:
        said.append(f"not installed, so not compared: {', '.join(missing)} (pip install '.[bench]')")
    said.append(
        f"answers compared with windrow's: {len(checked) - len(wrong)} of {len(checked)} agree "
        "(tolerance 1e-6 of the scale)"
    )
    said += [f"differs: {row['library']}, {row['aggregate']}, w={row['window']:,}: {row['why']}" for row in wrong]
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Against the fastest peer, the growth of the cost, the history test."""
    rate = medians([r for r in rows if r["kind"] == "rate"], ("aggregate", "window", "library"), "mrows")
    ahead = {}
    for (aggregate, window, library), ours in rate.items():
        others = [v for (a, w, name), v in rate.items() if (a, w) == (aggregate, window) and name != "windrow"]
        if library == "windrow" and others:
            ahead[aggregate, window] = ours / max(others)
    found = []
    led = {key: value for key, value in ahead.items() if key[0] in ("min", "max", "arg-max", "user's own")}
    if led:
        behind = [f"{a}, w = {w:,}: {value:.2f}x" for (a, w), value in led.items() if value < 1]
        found.append(
            Claim(
                "ahead of every peer for min, max, arg-max and the user's own",
                f"{span(led.values(), 'x')} the fastest peer for them, ahead in {len(led) - len(behind)} of {len(led)}",
                not behind,
                f"Behind at {'; '.join(behind)}.",
            )
        )
    grown = {}
    for aggregate in dict.fromkeys(r["aggregate"] for r in rows if r["kind"] == "growth"):
        cost = medians(
            [r for r in rows if r["kind"] == "growth" and r["aggregate"] == aggregate], ("window",), "ns_a_row"
        )
        grown[aggregate] = cost[max(cost)] / cost[min(cost)]
    if grown:
        text = f"a row of the longest window costs {span(grown.values(), 'x')} that of the shortest"
        found.append(
            Claim("the same cost at any window", text, max(grown.values()) <= 1.5, "The longest is beyond the caches.")
        )
    tested = [r for r in rows if r["kind"] == "history" and r["library"] == "windrow"]
    passed = sum(bool(r["passed"]) for r in tested)
    text = f"{passed} of {len(tested)} history tests passed"
    return [*found, Claim("answers do not depend on rows that have left", text, passed == len(tested))]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for aggregate, axes, own in results.grid(figure, [row for row in rows if row["kind"] == "rate"], "aggregate"):
        limit = [
            {**row, "library": "a copy"} for row in rows if row["kind"] == "copy" and row["aggregate"] == aggregate
        ]
        results.lines_over(axes, own + limit, "window", "mrows", "library", "window (rows)", "million rows/s")


BY = ("aggregate", "window", "library")
EXPERIMENT = Experiment(
    name="peers",
    title="rows a second against other libraries, one thread",
    paper="none",
    expected="ours to set: ahead of every peer for min, max, arg-max and the user's own, the same cost at any window",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(BY, "mrows", "M rows/s", baseline="windrow", less_is_better=False, kind="rate"),
    peers=PACKAGES,
    asked="How do the rows a second of one sliding window compare with pandas, Polars, bottleneck, numbagg and "
    "DuckDB, on one thread, and who still answers right after a huge value has left the window?",
    claims=claims,
)
