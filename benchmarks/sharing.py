"""Many periodic windows over one stream: how much work they share.

Asked: 1 to 100 windows of random ranges (20,000 to 80,000 rows) and slides (1,000 to 20,000 rows), multiples of 10,
over a stream of three energy readings. Combines are counted with the row-at-a-time aggregator; what is counted does not
depend on what is combined, so a plain sum stands for the mean of three readings there. Time is that of `windrow.Query`.

Techniques, as paper 3 §7.1 has them: `naive` (each window folded for itself, computed), `ra` (each row appended to a
FlatFAT at once), `pairs` (lazy) and `pairs+` (eager), `cutty_lazy` and `cutty_eager` (Alg. 1 as printed). Ours:
`cutty_fit` on FlatFIT, `cutty_fused` (eager, never more slices than open windows), `cutty` (both: what the aggregator
does where nothing else is asked for), `pairs_fit` to compare it with, and `ra_deferred`, a `swag.ReactiveAggregator` a
window, which updates its tree when it is asked and not for each row.

`combines` is what the paper counts: those of the store and of merging, beyond the one a row that fills the open slice.

Found by paper 3 (Fig. 8): Cutty half the combines of Pairs+, 1000x fewer than RA; 100x the queries cost 5-6x the time;
Pairs produces twice the partials.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import windrow
from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_least, at_most, medians, span
from benchmarks.timing import interleaved
from windrow import agg, swag, win
from windrow.sharing.aggregator import Aggregator
from windrow.windows.base import Window
from windrow.windows.kinds import Periodic

#: how the aggregator is set for each technique
TECHNIQUES: dict[str, dict[str, Any]] = {
    "ra": {"slicing": "rows", "store": "eager"},
    "pairs": {"slicing": "pairs", "store": "lazy"},
    "pairs+": {"slicing": "pairs", "store": "eager"},
    "cutty_lazy": {"slicing": "cutty", "store": "lazy", "fuse": False},
    "cutty_eager": {"slicing": "cutty", "store": "eager", "fuse": False},
    "cutty_fit": {"slicing": "cutty", "store": "fit", "fuse": False},
    "cutty_fused": {"slicing": "cutty", "store": "eager"},
    "cutty": {"slicing": "cutty"},
    "pairs_fit": {"slicing": "pairs", "store": "fit"},
}
#: the cheapest aggregate there is
TOTAL = windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=0, commutative=True)


def workload(count: int, seed: int, scale: int = 1) -> dict[str, Periodic]:
    """The first `count` of a hundred random windows of rows; `scale` divides their sizes."""
    random = np.random.default_rng(seed)
    ranges, slides = random.integers(2_000, 8_001, 100) * 10, random.integers(100, 2_001, 100) * 10
    sizes = zip((ranges // scale).tolist(), (slides // scale).tolist(), strict=True)
    return {f"w{i}": win.sliding(r, every=s) for i, (r, s) in enumerate(sizes) if i < count}


def counted(windows: Mapping[str, Window], technique: str, rows: Sequence[Any], warm: int, *columns: str) -> Row:
    """What one pass of a stream costs after its first `warm` rows, until when no window has ended."""
    shared = Aggregator(windows, TOTAL(*columns) if columns else TOTAL, **TECHNIQUES[technique])
    shared._sample = None  # a sum of ints keeps the laws
    shared.many(rows[:warm])
    before = replace(shared.counts)
    start = time.perf_counter()
    shared.many(rows[warm:])
    seconds = time.perf_counter() - start
    now, number = shared.counts, len(rows) - warm
    return {
        "kind": "combines", "technique": technique, "rows": number, "combines": now.store - before.store,
        "all": now.combines - before.combines, "a_row": (now.store - before.store) / number,
        "all_a_row": (now.combines - before.combines) / number, "update": now.append - before.append,
        "merge": now.merge - before.merge, "fill": now.fill - before.fill, "partials": now.slices - before.slices,
        "most": now.most, "reported": now.windows - before.windows, "seconds_in_python": seconds,
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
        total = swag.counting(TOTAL)
        kept = swag.ReactiveAggregator(total, capacity=w.range)
        kept._sample = None
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
    """Where windows end, after < end < until: one that ends with the last row is not told of by another."""
    skipped = max(0, (after - w.range) // w.every + 1)
    return range(w.range + skipped * w.every, until, w.every)


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
    slow = settings.pick(sizes, (1,), (1, 10, 100), (1, 10, 100))  # where RA is counted, which takes a minute
    found: list[Row] = []
    for count in settings.track(sizes, "sharing: combines"):
        windows = workload(count, settings.seed, scale)
        found.append({"windows": count, **naive(windows, number, warm)})
        if count in slow and count <= 10:
            found.append({"windows": count, **deferred(windows, number, warm)})
        found += [
            {"windows": count, **counted(windows, technique, range(number), warm)}
            for technique in TECHNIQUES
            if technique != "ra" or count in slow
        ]
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
    found = []
    for count, repetition, seconds in interleaved(setups, settings.repetitions):
        found.append(
            {
                "kind": "time", "windows": int(count), "technique": "query_cutty", "rows": number,
                "repetition": repetition, "seconds": seconds, "mrows": number / seconds / 1e6,
            }
        )  # fmt: skip
    return found


def notes(rows: Sequence[Row]) -> list[str]:
    """The ratios that the paper gives, at each number of windows where all are known."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    said = []
    for count in sorted({windows for windows, _ in counts}):

        def of(technique: str, what: str = "combines", count: int = count) -> float:
            return counts[count, technique][what]

        line = (
            f"{count} windows, combines beyond the fill: Cutty eager {of('cutty_eager') / of('pairs+'):.2f}x Pairs+ "
            f"(paper: about 0.5), Cutty by default {of('cutty') / of('pairs+'):.2f}x Pairs+ and "
            f"{of('cutty') / of('pairs_fit'):.2f}x Pairs on FlatFIT; partials: Pairs "
            f"{of('pairs', 'partials') / of('cutty_lazy', 'partials'):.2f}x Cutty (paper: 2)"
        )
        if (count, "ra") in counts:
            line += (
                f"; RA {of('ra') / of('cutty_eager'):,.0f}x Cutty eager, {of('ra') / of('cutty'):,.0f}x "
                f"Cutty by default (paper: 1000); with the fill {of('ra', 'all') / of('cutty', 'all'):.1f}x"
            )
        if (count, "ra_deferred") in counts:
            line += f"; RA that updates when asked {of('ra_deferred') / of('cutty'):,.0f}x"
        said.append(line)
    times = results.summary(Measure(("technique", "windows"), "seconds", "s", kind="time"), rows)
    medians = {(t["technique"], t["windows"]): t["median"] for t in times}
    most = max(windows for _, windows in medians)
    for technique in dict.fromkeys(technique for technique, _ in medians):
        ratio = medians[technique, most] / medians[technique, 1]
        said.append(f"{technique}: {most} windows take {ratio:.1f} times the time of one (paper: 5 to 6 for 100)")
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The ratios of Fig. 8 at the largest number of windows where all are known."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    most = max(windows for windows, _ in counts)
    with_ra = max(windows for windows, technique in counts if technique == "ra")
    cutty, pairs = counts[most, "cutty_eager"], counts[most, "pairs+"]
    half = cutty["combines"] / max(pairs["combines"], 1)
    best = counts[most, "cutty"]["combines"] / max(pairs["combines"], 1)
    ra = counts[with_ra, "ra"]["combines"] / max(counts[with_ra, "cutty_eager"]["combines"], 1)
    partials = [
        counts[n, "pairs"]["partials"] / max(counts[n, "cutty_lazy"]["partials"], 1)
        for n, technique in counts
        if technique == "pairs"
    ]
    times = medians(rows, ("technique", "windows"), "seconds", kind="time")
    slower = times["query_cutty", most] / times["query_cutty", 1]
    return [
        Claim(
            "Cutty calls combine half as often as Pairs+",
            f"Cutty {half:.2f}x the combines of Pairs+ with {most} windows, {best:.2f}x as it is by default",
            half <= 0.6,
            "Many random windows begin at almost every multiple of ten: then Pairs cuts hardly more often than Cutty.",
        ),
        Claim(
            "and 1000 times less often than RA",
            f"RA {ra:,.0f}x the combines of Cutty ({with_ra} windows)",
            at_least(ra, 1000),
            "Counted beyond the one combine a row that fills the open slice. With many windows Cutty has many slices.",
        ),
        Claim(
            "Pairs makes twice the partials",
            f"Pairs makes {span(partials, 'x')} the partials of Cutty",
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
