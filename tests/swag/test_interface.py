"""What all algorithms have in common: the list, the cards, the refusals, empty windows."""

from __future__ import annotations

import pytest

import windrow
from windrow import agg, swag
from windrow.errors import Unsupported
from windrow.swag import ALGORITHMS


@pytest.mark.parametrize("name", ALGORITHMS)
def test_empty_windows(name: str) -> None:
    for make, empty in ((agg.max, None), (agg.count, 0), (agg.concat, None), (agg.collect_list, [])):
        try:
            window = ALGORITHMS[name](make())
        except Unsupported:
            continue
        assert (len(window), window.query()) == (0, empty)
        with pytest.raises(IndexError):
            window.evict()
        window.evict_many(0)
        with pytest.raises(IndexError):
            window.evict_many(1)
        window.insert_many(["b", "a"])
        window.evict_many(2)
        assert (len(window), window.query()) == (0, empty)
        window.check_invariants()
        assert window.slide([], 3).tolist() == []


@pytest.mark.parametrize("name", ALGORITHMS)
def test_cards(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert algorithm.name == name
    assert all(
        (algorithm.card.order, algorithm.card.requires, algorithm.card.time, algorithm.card.space, algorithm.card.paper)
    )
    assert algorithm.__doc__
    assert algorithm.__name__ in swag.__all__


@pytest.mark.parametrize("name", ALGORITHMS)
def test_bulk_is_all_or_nothing(name: str) -> None:
    window = ALGORITHMS[name](
        windrow.Aggregate(lambda x: x + 0, lambda a, b: a + b, identity=0, inverse=lambda total, old: total - old)
    )
    window.insert_many([1, 2])
    with pytest.raises(TypeError):
        window.insert_many([3, "x", 4])
    assert (len(window), window.query()) == (2, 3)
    window.insert_many(range(100))
    window.evict_many(2)
    window.evict_many(60)
    assert (len(window), window.query()) == (40, sum(range(60, 100)))


def test_what_cannot_be_done_is_refused_by_name() -> None:
    for aggregate in (agg.max(), agg.variance(), agg.first(), agg.approx_count_distinct()):
        with pytest.raises(Unsupported, match=r"TwoStacksLite"):
            swag.SubtractOnEvict(aggregate)
    with pytest.raises(TypeError, match=r"agg\.max\(\)"):
        swag.TwoStacks("max")
    with pytest.raises(ValueError, match="capacity"):
        swag.TwoStacks(agg.max(), capacity=0)


def test_public_names() -> None:
    names = "Aggregate Query agg errors expr local spark stores swag warm win"
    assert sorted(windrow.__all__) == names.split()
    classes = """
        Recalculate SubtractOnEvict TwoStacks TwoStacksLite ABA DABA DABALite FlatFAT ReactiveAggregator BInt FlatFIT
        LogMTA AMTA FiBA
    """
    for name in classes.split():
        assert hasattr(swag, name)
    names = """
        count sum min max mean product geometric_mean variance var_pop stddev stddev_pop max_count min_count max_by
        min_by first last first_n last_n collect_list collect_set concat value_range top_k count_distinct mode bool_and
        bool_or weighted_mean corr covar_samp regr_slope skewness kurtosis histogram longest_increasing_run
        approx_count_distinct approx_percentile bloom count_min frequent_items join avg std var
    """
    assert sorted(names.split()) == sorted(agg.__all__)


def test_records_are_what_the_classes_say() -> None:
    for name, kind in ALGORITHMS.items():
        record = kind.algorithm
        assert record.name == name
        for field in ("kernel", "layout", "card", "registers", "partial_registers", "counted", "plain_only", "fused"):
            assert getattr(kind, field) is getattr(record, field), field
        assert len(kind.layout(16)) == 3  # without an instance
        assert set(record.partial_registers) <= set(record.registers._fields)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_cards_bound_the_combines(name: str) -> None:
    """The numbers of a card: at every step or, where they are amortised, on average over all rows that came."""
    counted, card, n, rows = swag.counting(agg.sum()), ALGORITHMS[name].card, 50, 1000
    window = ALGORITHMS[name](counted)
    taken: dict[str, list[int]] = {"insert": [], "evict": [], "query": []}
    for i in range(rows):
        for operation, arguments in (("insert", (i,)), ("evict", ()), ("query", ())):
            if operation != "evict" or i >= n:
                before = window.of.combines or 0
                getattr(window, operation)(*arguments)
                taken[operation].append((window.of.combines or 0) - before)
    for operation, steps in taken.items():
        bound = getattr(card, operation)
        if bound is not None:
            assert (sum(steps) / rows if operation in card.amortised else max(steps)) <= bound, (operation, bound)
    assert card.a_row is None or sum(map(sum, taken.values())) <= card.a_row * rows
