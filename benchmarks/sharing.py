"""Many periodic windows over one stream: how much work they share.

Asked: 1 to 100 windows of random ranges (20,000 to 80,000 rows) and slides (1,000 to 20,000 rows), multiples of 10,
over a stream of three energy readings. What is counted does not depend on what is combined, so a plain sum stands for
the mean of three readings there. Time is that of `windrow.Query` with the means.

`query` is a `windrow.Query`, counted step by step. Beside it the techniques of paper 3 §7.1, by the model in
`benchmarks/slicing.py`: `naive` (each window folded for itself), `ra` (each row appended to a FlatFAT at once), `pairs`
(lazy) and `pairs+` (eager), `cutty_lazy` and `cutty_eager` (Alg. 1 as printed); `pairs_fit` is Pairs on FlatFIT, which
a query has. `ra_deferred` is a `swag.ReactiveAggregator` per window, which updates its tree when it is asked, not for
each row.

`combines` is what the paper counts: those of the store and of merging, beyond the one per row that fills the open
slice.

Found by paper 3 (Fig. 8): Cutty half the combines of Pairs+, 1000x fewer than RA; 100x the queries cost 5-6x the time;
Pairs produces twice the partials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results, slicing, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_least, at_most, medians, span
from benchmarks.stepping import stepped
from benchmarks.timing import interleaved
from windrow import agg, swag, win
from windrow.windows.kinds import Periodic

#: how the model is set for each technique: how it slices, and where it keeps the partials
TECHNIQUES = {
    "ra": ("ra", "eager"),
    "pairs": ("pairs", "lazy"),
    "pairs+": ("pairs", "eager"),
    "pairs_fit": ("pairs", "fit"),
    "cutty_lazy": ("cutty", "lazy"),
    "cutty_eager": ("cutty", "eager"),
}


def workload(count: int, seed: int, scale: int = 1) -> dict[str, Periodic]:
    """The first `count` of a hundred random windows of rows; `scale` divides their sizes."""
    random = np.random.default_rng(seed)
    ranges, slides = random.integers(2_000, 8_001, 100) * 10, random.integers(100, 2_001, 100) * 10
    sizes = zip((ranges // scale).tolist(), (slides // scale).tolist(), strict=True)
    return {f"w{i}": win.sliding(r, every=s) for i, (r, s) in enumerate(sizes) if i < count}


def modelled(windows: Mapping[str, Periodic], technique: str, rows: int, warm: int) -> Row:
    """What a technique takes after the first `warm` rows, until when no window has ended."""
    how, store = TECHNIQUES[technique]
    sizes = [(w.range, w.every) for w in windows.values()]
    cut_at = slicing.cuts(how, sizes, rows)
    return counted(technique, slicing.modelled(cut_at, slicing.periodic(sizes, rows), rows, store, warm))


def queried(windows: Mapping[str, Periodic], rows: int, warm: int, rows_a_step: int = 200) -> Row:
    """What a query takes."""
    query = windrow.Query(windows=windows, aggregates={"total": swag.counting(agg.sum("x"))})
    return counted("query", stepped(query, {"x": np.ones(rows, np.int64)}, warm, rows_a_step))


def counted(technique: str, counts: slicing.Counts) -> Row:
    """A row of the CSV."""
    combines = counts.update + counts.merge
    return {
        "kind": "combines", "technique": technique, "rows": counts.rows, "combines": combines,
        "all": combines + counts.fill, "a_row": combines / counts.rows,
        "all_a_row": (combines + counts.fill) / counts.rows, "update": counts.update, "merge": counts.merge,
        "fill": counts.fill, "partials": counts.slices, "most": counts.most, "reported": counts.windows,
    }  # fmt: skip


def naive(windows: Mapping[str, Periodic], rows: int, warm: int) -> Row:
    """Each window folded for itself: range - 1 combines for each that ends."""
    combines = reported = 0
    for w in windows.values():
        ended = sum(1 for _ in ends(w, warm, rows))
        combines, reported = combines + (w.range - 1) * ended, reported + ended
    return bare("naive", combines, rows - warm, reported)


def deferred(windows: Mapping[str, Periodic], rows: int, warm: int) -> Row:
    """A Reactive Aggregator for each window, asked when one ends."""
    combines = reported = 0
    for w in windows.values():
        total = swag.counting(agg.sum())
        kept = swag.ReactiveAggregator(total, capacity=w.range)
        first = 0
        for end in ends(w, 0, rows):
            start = end - w.range
            kept.evict_many(min(len(kept), start - first))
            kept.insert_many(range(max(start, start + len(kept)), end))
            first = start
            before = total.combines
            kept.query()
            if end > warm:
                combines, reported = combines + total.combines - before, reported + 1
    return bare("ra_deferred", combines, rows - warm, reported)


def ends(w: Periodic, after: int, until: int) -> range:
    """Where windows end, after < end <= until."""
    skipped = max(0, (after - w.range) // w.every + 1)
    return range(w.range + skipped * w.every, until + 1, w.every)


def bare(technique: str, combines: int, rows: int, reported: int) -> Row:
    """A row of a technique that has no slices."""
    return {
        "kind": "combines", "technique": technique, "rows": rows, "combines": combines, "all": combines,
        "a_row": combines / rows, "all_a_row": combines / rows, "reported": reported,
    }  # fmt: skip


def run(settings: Settings) -> list[Row]:
    scale = settings.pick(100, 1, 1, 1)
    warm = 80_000 // scale
    number = warm + settings.pick(3_000, 100_000, 200_000, 1_000_000)
    sizes = settings.pick((1, 5), (1, 10, 100), (1, *range(10, 101, 10)), (1, *range(10, 101, 10)))
    found: list[Row] = []
    for count in settings.track(sizes, "sharing: combines"):
        windows = workload(count, settings.seed, scale)
        found.append({"windows": count, **naive(windows, number, warm)})
        if count <= 10:  # it takes long
            found.append({"windows": count, **deferred(windows, number, warm)})
        found += [{"windows": count, **modelled(windows, technique, number, warm)} for technique in TECHNIQUES]
        found.append({"windows": count, **queried(windows, number, warm)})
    return found + timed(settings, sizes, scale)


def timed(settings: Settings, sizes: Sequence[int], scale: int) -> list[Row]:
    """Seconds of `windrow.Query` over the whole stream, for each number of windows."""
    number = settings.pick(3_000, 500_000, 2_000_000, 10_000_000)
    stream = streams.debs(number, settings.seed)
    readings = {name: stream[name] for name in ("energy1", "energy2", "energy3")}
    means = {f"mean{i}": agg.mean(f"energy{i}") for i in (1, 2, 3)}

    def prepared(count: int) -> Callable[[], Callable[[], Any]]:
        query = windrow.Query(windows=workload(count, settings.seed, scale), aggregates=means)
        query.run({name: column[: number // 4] for name, column in readings.items()})  # compiled by now
        return lambda: lambda: query.run(readings)

    setups = {str(count): prepared(count) for count in sizes}
    return [
        {
            "kind": "time", "windows": int(count), "technique": "query", "rows": number, "repetition": repetition,
            "seconds": seconds, "mrows": number / seconds / 1e6,
        }
        for count, repetition, seconds in interleaved(setups, settings.repetitions)
    ]  # fmt: skip


def notes(rows: Sequence[Row]) -> list[str]:
    """The ratios that the paper gives, at each number of windows where all are known."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    said = []
    for count in sorted({windows for windows, _ in counts}):

        def of(technique: str, what: str = "combines", count: int = count) -> float:
            return counts[count, technique][what]

        line = (
            f"{count} windows, combines beyond the fill: Cutty eager {of('cutty_eager') / of('pairs+'):.2f}x Pairs+ "
            f"(paper: about 0.5), a query {of('query') / of('pairs+'):.2f}x Pairs+ and "
            f"{of('query') / of('pairs_fit'):.2f}x Pairs on FlatFIT; partials: Pairs "
            f"{of('pairs', 'partials') / of('query', 'partials'):.2f}x a query (paper: 2); RA "
            f"{of('ra') / of('cutty_eager'):,.0f}x Cutty eager, {of('ra') / of('query'):,.0f}x a query (paper: 1000); "
            f"with the fill {of('ra', 'all') / of('query', 'all'):.1f}x"
        )
        if (count, "ra_deferred") in counts:
            line += f"; RA that updates when asked {of('ra_deferred') / of('query'):,.0f}x"
        said.append(line)
    times = results.summary(Measure(("technique", "windows"), "seconds", "s", kind="time"), rows)
    medians = {(t["technique"], t["windows"]): t["median"] for t in times}
    most = max(windows for _, windows in medians)
    ratio = medians["query", most] / medians["query", 1]
    return [*said, f"query: {most} windows take {ratio:.1f} times the time of one (paper: 5 to 6 for 100)"]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The ratios of Fig. 8 at the largest number of windows where all are known."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    most = max(windows for windows, _ in counts)
    cutty, pairs, query = (counts[most, name]["combines"] for name in ("cutty_eager", "pairs+", "query"))
    half, ours, ra = cutty / max(pairs, 1), query / max(pairs, 1), counts[most, "ra"]["combines"] / max(query, 1)
    partials = [
        counts[n, "pairs"]["partials"] / max(row["partials"], 1)
        for (n, technique), row in counts.items()
        if technique == "query"
    ]
    times = medians(rows, ("technique", "windows"), "seconds", kind="time")
    slower = times["query", most] / times["query", 1]
    return [
        Claim(
            "Cutty calls combine half as often as Pairs+",
            f"Cutty {half:.2f}x the combines of Pairs+ with {most} windows; a query, which has FlatFIT, {ours:.2f}x",
            half <= 0.6,
            "Many random windows begin at almost every multiple of ten: then Pairs cuts hardly more often than Cutty.",
        ),
        Claim(
            "and 1000 times less often than RA",
            f"RA {ra:,.0f}x the combines of a query ({most} windows)",
            at_least(ra, 1000),
            "Counted beyond the one combine per row that fills the open slice. Many windows begin many slices.",
        ),
        Claim(
            "Pairs makes twice the partials",
            f"Pairs makes {span(partials, 'x')} the partials of a query",
            at_least(max(partials), 2),
        ),
        Claim(
            "100 times the windows take 5 to 6 times the time",
            f"{most} windows take {slower:.1f} times the time of one",
            at_most(slower, 6),
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    left, middle, right = figure.subplots(1, 3)
    counts = [row for row in rows if row["kind"] == "combines"]
    results.lines_over(
        left, counts, "windows", "a_row", "technique", "windows", "combines a row beyond the fill", logx=False
    )
    stored = [row for row in counts if "most" in row]
    results.lines_over(middle, stored, "windows", "most", "technique", "windows", "most partials held", logx=False)
    times = [row for row in rows if row["kind"] == "time"]
    results.lines_over(right, times, "windows", "mrows", "technique", "windows", "million rows/s", logx=False)


EXPERIMENT = Experiment(
    name="sharing",
    title="1..100 periodic windows over one stream",
    paper="3 Fig. 8",
    expected="Cutty half the combines of Pairs+, 1000x fewer than RA; 100x the queries cost 5-6x; partials: Pairs 2x",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(
        ("windows", "technique"), "a_row", "combines a row beyond the fill", baseline="pairs+", kind="combines"
    ),
    asked="How much work do 1 to 100 periodic windows over one stream share? How often combine is called, how many "
    "partials are kept, and how long a query takes.",
    claims=claims,
)
