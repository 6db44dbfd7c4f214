"""Predicates: what is allowed, what is refused, and three-valued logic as SQL has it."""

from __future__ import annotations

import datetime
import operator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.engine.inputs import Column, read_columns
from windrow.engine.row_views import numbers
from windrow.errors import WindrowError
from windrow.windows.predicates import Predicate

NAN = float("nan")


def table(**columns: Any) -> dict[str, Column]:
    return {name: read_columns(values)[0] for name, values in columns.items()}


TRADES = table(
    price=[1.5, None, 20.0, NAN],
    qty=[1, 2, 3, 4],
    side=["buy", None, "sell", "buy"],
    lot=[1, 1, 1, 2**62],
    ok=[True, False, None, True],
)


def where(text: Any, columns: dict[str, Column] = TRADES) -> list[int]:
    """The rows at which it holds."""
    n = len(next(iter(columns.values())).values)
    found = Predicate.parse(text).mask(columns, n)
    assert found.dtype == bool and found.shape == (n,)
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("ok", [0, 3]),
        (" ok ", [0, 3]),
        ("not ok", [1]),
        ("price < 10", [0]),
        ("price >= 10", [2, 3]),  # NaN is larger than any number
        ("price == price", [0, 2, 3]),
        ("price < price or price > price", []),
        ("price <= price and price >= price", [0, 2, 3]),
        ("price != 20", [0, 3]),
        ("not (price < 10)", [2, 3]),
        ("price < 10 and (side == 'buy' or qty >= 2*lot)", [0]),
        ("ok or qty > 2", [0, 2, 3]),  # null or true
        ("not (ok and qty < 2)", [1, 2, 3]),  # null and false is false
        ("price is None", [1]),
        ("price is not None and side is not None", [0, 2, 3]),
        ("price + 1 is None", [1]),
        ("1 < qty <= 3", [1, 2]),
        ("4 > qty > 1 != qty", [1, 2]),
        ("qty in (1, 4, -1)", [0, 3]),
        ("qty not in (1, 4)", [1, 2]),
        ("qty in (1, None)", [0]),
        ("qty not in (1, None)", []),  # true for none: it might be the null
        ("qty in ()", []),
        ('side in ["buy", "x"]', [0, 3]),
        ("side not in ('buy',)", [2]),
        ("side < 'c'", [0, 3]),
        ("qty / 2 == 1.5", [2]),
        ("-qty // 2 == -2", [2, 3]),
        ("-qty % 3 == 1", [1]),
        ("abs(2 - qty) == 1", [0, 2]),
        ("+qty == 2", [1]),
        ("10 / (qty - 2) > 4", [2, 3]),  # divided by zero: null
        ("10 // (qty - 2) is None", [1]),
        ("10 % (qty - 2) is None", [1]),
        ("1 / 0 is None", [0, 1, 2, 3]),
        ("lot * 4 > 4", [3]),  # beyond 64 bits
        ("lot + lot + lot == 13835058055282163712", [3]),
        ("-lot - lot - lot < -9223372036854775808", [3]),
        ("lot < 99999999999999999999999", [0, 1, 2, 3]),
        ("-(-9223372036854775807 - lot) == 9223372036854775808", [0, 1, 2]),
        ("abs(-9223372036854775807 - qty) == 9223372036854775808", [0]),
        ("ok + qty == 5", [3]),
        ("ok == True", [0, 3]),
        ("(price < 10) == ok", [0]),
        ("True", [0, 1, 2, 3]),
        ("False or None", []),
        ("None is None", [0, 1, 2, 3]),
        ("qty > 1\n  and qty < 3", [1]),
        ("`qty` > 3", [3]),
        # SQL's spellings
        ("price = 20 OR side <> 'buy'", [2]),
        ("price IS NULL", [1]),
        ("price is not null AND NOT ok", []),
        ("qty between 2 and 3", [1, 2]),
        ("qty not between 2 and 3 and true", [0, 3]),
        ("side = 'it''s' or side = \"buy\"", [0, 3]),
        ("coalesce(price, 0) = 0", [1]),
        ("coalesce(side, 'none') = 'none'", [1]),
        ("least(price, qty) = 1", [0]),
        ("least(price, 2) = 2", [1, 2, 3]),  # nulls are skipped
        ("greatest(price, qty) > 100", [3]),  # NaN
        ("upper(side) = 'BUY' and length(side) = 3", [0, 3]),
        ("lower('SELL') = side", [2]),
        ("length(side) is null", [1]),
        ("case when ok then qty when qty = 3 then 9 else 0 end > 3", [2, 3]),
        ("case when ok then 'yes' end is null", [1, 2]),
        ("case when ok then 1 else 2.5 end = 2.5", [1, 2]),
        ("CASE WHEN false THEN side END IS NULL", [0, 1, 2, 3]),
        ("col('qty') > 3 and `side` != \"`a`\"", [3]),
    ],
)
def test_expressions(text: str, rows: list[int]) -> None:
    assert where(text) == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("qty > 1 and price ** 2 < 10", r"at character 19, '\*\* 2 < 10': `\*\*` is not allowed"),
        ("a && b", "write `and`"),
        ("a || b", "write `or`"),
        ("!a", "write `not`"),
        ("price & ok", "write `and`"),
        ("price | ok", "write `or`"),
        ("~ok", "write `not`"),
        ("is buy", "backquotes"),
        ("order.price > 1", "backquotes"),
        ("row['price'] > 1", "col"),
        ("f(x) > 1", "only functions are abs"),
        ("abs(x, y) > 1", "only functions are abs"),
        ("col(x) > 1", "only functions are abs"),
        ("__import__('os').system('true')", "only functions are abs"),
        ("lambda row: True", "given as itself"),
        ("1 if a else 2", "`if`"),
        ("(a := 1) > 0", "`:=`"),
        ("f'{a}' == b", "f'...' texts are not allowed"),
        ("a == b'x'", "b'...' texts are not allowed"),
        ("a == 1j", "no expression here"),
        ("a == ...", "`.` is not allowed"),
        ("[a for a in b]", r"`\[...\]` is not allowed"),
        ("a == None", "`is null`"),
        ("null != a", "`is null`"),
        ("a is True", "goes with null only"),
        ("a in b", "literals in parentheses"),
        ("a in (b, 1)", "at character 7, 'b': `in` goes with literals only"),
        ("a; b", "invalid syntax"),
        ("((", "it ends too early"),
        ("((a)", "never closed"),
        ("'abc", "never ends"),
        ("a\0b", "no such sign"),
        ("not " * 300 + "a", "too deeply"),
        ("1 + " * 300 + "1 > 0", "too deeply"),
        ("a and " * 600 + "a", "more than 500 operations"),
        ("", "empty"),
        ("é == ü ** 2", r"at character 8, '\*\* 2'"),
    ],
)
def test_what_is_refused_when_it_is_made(text: str, says: str) -> None:
    with pytest.raises(WindrowError, match=says):
        Predicate.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prise < 10", "no column 'prise'; did you mean 'price'"),
        ("qty", "qty is number, not true or false; compare it, as in qty != 0"),
        ("side", "side is text, not true or false"),
        ("ok and qty", "qty is number"),
        ("side < 3", "side < 3 compares text with number"),
        ("qty == 'x'", "compares number with text"),
        ("side + 1 > 2", "side is text, not a number"),
        ("-side == 'x'", "side is text, not a number"),
    ],
)
def test_what_is_refused_when_the_columns_are_known(text: str, says: str) -> None:
    with pytest.raises(WindrowError, match=says):
        where(text)


@pytest.mark.parametrize("given", [3, None, 1.5, b"x", ["a"]])
def test_what_is_no_predicate(given: Any) -> None:
    with pytest.raises(WindrowError, match="a predicate is a column's name"):
        Predicate.parse(given)


def test_a_predicate_knows_its_columns_and_is_a_value() -> None:
    made = Predicate.parse("price < 10 and `odd name` > price")
    assert made.columns == ("price", "odd name")
    assert made.text == "price < 10 and `odd name` > price"
    assert made == Predicate.parse("price < 10 and `odd name` > price") != Predicate.parse("price < 10")
    assert len({made, Predicate.parse(made)}) == 1
    assert Predicate.parse("class").columns == ("class",)
    assert Predicate.parse("ＡＢ > 1").columns == ("ＡＢ",)  # as it is written, not as Python folds it


def test_odd_names_do_not_get_mixed_up() -> None:
    columns = table(**{"a b": [1, 2, 3], "c d": [3, 2, 1], "一__": [0, 9, 0]})
    assert where("`a b` < `c d`", columns) == [0]
    assert where("`a b` < `c d` or 一__ > 5", columns) == [0, 1]


def test_objects_dates_and_decimals() -> None:
    day = datetime.date(2024, 1, 1)
    columns = table(
        d=[Decimal("1.5"), None, Decimal("3")],
        day=[day, day + datetime.timedelta(1), None],
        big=[2**70, 1, None],
        none=[None, None, None],
        maybe=np.array([True, None, False], object),
    )
    assert where("d * 2 == 3", columns) == [0]
    assert where("-d < -2", columns) == [2]
    assert where("d % 1 == 0", columns) == [2]
    assert where("d / 0 is None", columns) == [0, 1, 2]
    assert where("day == day", columns) == [0, 1]
    assert where("big > 1000", columns) == [0]
    assert where("none", columns) == where("none > 3", columns) == where("none == 'x'", columns) == []
    assert where("none is None", columns) == [0, 1, 2]
    assert where("maybe", columns) == [0]
    with pytest.raises(WindrowError, match="compares date with text"):
        where("day == '2024-01-01'", columns)
    with pytest.raises(WindrowError, match=r"d \+ 0.5 does not go"):
        where("d + 0.5 > 1", columns)


@pytest.mark.parametrize(
    ("unit", "one"), [("D", 86_400_000_000), ("s", 10**6), ("ms", 1000), ("us", 1), ("25s", 25 * 10**6)]
)
def test_times_are_microseconds(unit: str, one: int) -> None:
    columns = {"ts": read_columns(np.array([-2, 0, 3], f"M8[{unit}]"))[0]}
    assert numbers(columns["ts"]).tolist() == [-2 * one, 0, 3 * one]
    assert where(f"ts == {3 * one}", columns) == [2]
    assert where(lambda row: row.ts == -2 * one, columns) == [0]


def test_nanoseconds_are_rounded_down() -> None:
    assert numbers(read_columns(np.array([-1, 999, 1000], "M8[ns]"))[0]).tolist() == [-1, 0, 1]


def test_no_rows() -> None:
    empty = table(price=np.empty(0), side=np.empty(0, object))
    assert where("price < 1 and side == 'x'", empty) == []
    assert where("True", empty) == []
    assert where(lambda row: row.price < 1, empty) == []


# Against an evaluator of its own: one row at a time, None for null.

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
numbers_ = st.recursive(
    st.sampled_from(["x", "y", "f"]) | st.integers(-3, 3).map(str),
    lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "//", "%", "/"]), inner, inner),
    max_leaves=4,
)
conditions = st.recursive(
    st.tuples(st.sampled_from(sorted(COMPARE)), numbers_, numbers_)
    | st.just("b")
    | st.tuples(st.just("null"), numbers_)
    | st.tuples(st.just("in"), numbers_, st.lists(st.integers(-2, 2), min_size=1, max_size=3)),
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner),
    max_leaves=6,
)


def spelled(tree: Any) -> str:
    match tree:
        case str():
            return f"({tree})" if tree.startswith("-") else tree
        case ("not", a):
            return f"not ({spelled(a)})"
        case ("null", a):
            return f"({spelled(a)} is None)"
        case ("in", a, choices):
            return f"({spelled(a)} in ({', '.join(map(str, choices))},))"
        case (op, a, b):
            return f"({spelled(a)} {op} {spelled(b)})"
    raise AssertionError(tree)


def answer(tree: Any, row: dict[str, Any]) -> Any:
    match tree:
        case str():
            return row[tree] if tree in row else int(tree)
        case ("not", a):
            inner = answer(a, row)
            return None if inner is None else not inner
        case ("null", a):
            return answer(a, row) is None
        case ("in", a, choices):
            inner = answer(a, row)
            return None if inner is None else inner in choices
        case (("and" | "or") as op, a, b):
            decisive = op == "or"
            both = [answer(a, row), answer(b, row)]
            return decisive if decisive in both else None if None in both else not decisive
        case (op, a, b):
            one, two = answer(a, row), answer(b, row)
            if one is None or two is None:
                return None
            if op in COMPARE:
                return COMPARE[op](one, two)
            if op in "//%" and two == 0:
                return None
            return {
                "+": operator.add,
                "-": operator.sub,
                "*": operator.mul,
                "/": operator.truediv,
                "//": operator.floordiv,
                "%": operator.mod,
            }[op](one, two)
    raise AssertionError(tree)


small = st.none() | st.integers(-3, 3)


@given(
    conditions,
    st.lists(
        st.tuples(small, small, st.none() | st.sampled_from([-1.5, 0.0, 0.5, 2.0]), st.none() | st.booleans()),
        min_size=1,
        max_size=8,
    ),
)
def test_expressions_equal_the_rules_row_by_row(tree: Any, rows: list[tuple]) -> None:
    listed = list(zip(*rows, strict=True))
    columns = {name: read_columns(list(values))[0] for name, values in zip("xyfb", listed, strict=True)}
    wanted = [answer(tree, dict(zip("xyfb", row, strict=True))) is True for row in rows]
    assert Predicate.parse(spelled(tree)).mask(columns, len(rows)).tolist() == wanted
