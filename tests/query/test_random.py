"""Every window kind against the brute-force evaluator, on random tables.

What is counted, for 42 kinds (25 that report once, 17 by row):

* 5,712 tables, 136 a kind, of no key, one or a few; each set of aggregates has a quarter of them (sum, max, max_by
  and concat are in one or another)
* 336 tables of 1,000 keys, 8 a kind, two for each set of aggregates
* 630 tables with changes_only, 252 as dicts of lists, 760 of several windows that share

`test_quick.py` has a few of them for the quick suite. A failure names the kind and the seed:
`draw_case(kind, seed)` is the case.
"""

from __future__ import annotations

import random

import pytest

from tests.query import brute
from tests.query.cases import (
    KINDS,
    ONCE,
    PER_ROW,
    Case,
    Table,
    arrow_rows,
    assert_same,
    dict_rows,
    draw_case,
    draw_table,
    one_pair_of_edges,
)
from windrow.engine import row_kernels

#: kernels for every kind of window and column: minutes of compiling
pytestmark = pytest.mark.slow

SEEDS = 136  # for each of the kinds


def check(case: Case) -> None:
    query = case.query()
    got = arrow_rows(query.run(case.table.arrow()))
    if not case.per_row:
        got = one_pair_of_edges(got)
    assert_same(got, case.expected(), str(case), ordered=case.per_row)
    assert query.report.rejected == case.rejected(), str(case)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(kind):
    for seed in range(SEEDS):
        check(draw_case(kind, seed))


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_keys(kind):
    for seed in range(8):
        check(draw_case(kind, seed, rows=2000, keys=1000))


@pytest.mark.parametrize("kind", KINDS)
def test_changes_only(kind):
    """Rows that are in no window have no answer that could change: they are left out here."""
    for seed in range(15):
        case = draw_case(kind, 1000 + seed)
        case.options["changes_only"] = True
        named = [case.oracle]
        kept = [row for row in case.table.rows() if not brute.rejected(brute.Row(row), case.time, named)]
        case.table = type(case.table).of(kept, case.table)
        check(case)


@pytest.mark.parametrize("kind", KINDS)
def test_dicts_of_lists(kind):
    for seed in range(6):
        case = draw_case(kind, 2000 + seed)
        got = case.query().run(case.table.columns)
        assert_same(dict_rows(got), case.expected(), str(case), ordered=case.per_row)


COMPILED = [
    "user_stock",
    "user_counted",
    "user_quiet",
    "user_spells",
    "user_last_rows",
    "punctuated_function",
    "policy_size",
    "policy_sum",
]


@pytest.mark.parametrize(("kind", "nulls"), [*((kind, False) for kind in COMPILED), ("user_stock", True)])
def test_a_users_code_runs_compiled(kind, nulls, monkeypatch):
    """As it does over many rows; the answers stay those of plain Python."""
    monkeypatch.setattr(row_kernels, "COMPILE_AFTER", row_kernels.SMALL)
    rng = random.Random(f"compiled {kind}")
    oracle, windows = KINDS[kind](rng, 60_000_000)
    n = row_kernels.SMALL + 500
    columns = {
        "ts": [10_000_000 * at for at in range(n)],
        "g": [rng.randrange(3) for _ in range(n)],
        "i": [rng.randint(-5, 9) for _ in range(n)],
        "f": [rng.randint(-40, 64) / 8 for _ in range(n)],
        "flag": [rng.random() < 0.2 for _ in range(n)],
        "price": [rng.choice([9.5, 10.0, 12.0]) for _ in range(n)],
        "w": ["a"] * n,
    }
    if nulls:
        for name in ("i", "f", "price", "flag"):
            columns[name] = [None if rng.random() < 0.1 else x for x in columns[name]]
    check(Case(f"compiled {kind}", Table(columns), oracle, windows, "commutative", ["g"]))


def several(kinds: list[str], seed: int) -> Case:
    """Two to five windows in one query, over any measures: they share what they can."""
    rng = random.Random(f"several {seed}")
    cases = [draw_case(kind, seed) for kind in rng.sample(kinds, rng.randint(2, 5))]
    oracle = {f"w{at}": case.oracle for at, case in enumerate(cases)}
    windows = {f"w{at}": case.windows for at, case in enumerate(cases)}
    table = draw_table(rng, rng.randint(0, 40), rng.choice([1, 1_000_000]))
    return Case(f"several, seed {seed}", table, oracle, windows, cases[0].aggregates, cases[0].by, cases[0].options)


def test_several_windows_share():
    for seed in range(400):
        check(several(list(ONCE), seed))


def test_several_trailing_windows_share():
    for seed in range(300):
        check(several([kind for kind in PER_ROW if kind.startswith("trailing")], seed))


def test_many_periodic_windows_share():
    """One measure, up to twelve windows: one slicing for all."""
    for seed in range(60):
        rng = random.Random(f"many {seed}")
        kind = rng.choice(["periodic_time", "periodic_rows", "periodic_float"])
        cases = [draw_case(kind, 100 * seed + at) for at in range(12)]
        first = cases[0]
        table = draw_table(rng, rng.randint(0, 60), rng.choice([1, 1_000_000]))
        check(
            Case(
                f"many, seed {seed}",
                table,
                {f"w{at}": case.oracle for at, case in enumerate(cases)},
                {f"w{at}": case.windows for at, case in enumerate(cases)},
                first.aggregates,
                first.by,
                first.options,
            )
        )


def test_the_order_of_keys_and_names_is_as_declared():
    case = draw_case("tumbling_time", 3)
    case.by, case.aggregates = ["g", "k"], "numbers"
    got = case.query().run(case.table.arrow())
    assert got.column_names == ["g", "k", "start", "end", "s", "m", "b", "n", "a"]
