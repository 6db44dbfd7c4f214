"""`in` with many literals: rows are looked up, and the answers are those of an `or` of `==`."""

from __future__ import annotations

import pickle
import random
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from windrow.cli.slide_policies import SlidePolicy
from windrow.engine.choices import Choices
from windrow.engine.inputs import Column, read_columns
from windrow.errors import WindrowError
from windrow.windows.predicates import Predicate

MANY = 200_000


def where(text: str, **columns: Any) -> list[int]:
    read: dict[str, Column] = {name: read_columns(values)[0] for name, values in columns.items()}
    n = len(next(iter(read.values())).values)
    return np.flatnonzero(Predicate.parse(text).mask(read, n)).tolist()


@pytest.mark.parametrize("quoted", [str, lambda v: f"'é{v}'"])
def test_many_literals(quoted) -> None:
    text = f"x in ({', '.join(quoted(2 * i) for i in range(MANY))})"
    column = np.arange(1000) if quoted is str else np.array([f"é{i}" for i in range(1000)], object)
    assert where(text, x=column) == list(range(0, 1000, 2))
    assert where(text.replace(" in ", " not in "), x=column) == list(range(1, 1000, 2))


class Counted:
    """How often it is compared."""

    comparisons = 0

    def __hash__(self) -> int:
        return hash("b")

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return other == "b"


def test_a_row_is_not_compared_with_each_literal() -> None:
    choices = Choices.of([str(i) for i in range(10_000)] + ["b"])
    Counted.comparisons = 0
    assert choices.holds(np.array([Counted() for _ in range(100)], object)).all()
    assert Counted.comparisons < 1000


LITERALS = ["1", "-2", "0", "2.5", "1e3", "-0.0", "True", "None", str(2**53 + 1), str(2**63), str(-(2**63)), str(2**70)]
COLUMNS = {
    "ints": [1, -2, 0, 2, None, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "floats": [1.0, 2.5, -0.0, float("nan"), None, float(2**53), 2.0**63, 2.0**70, -(2.0**63)],
    "bools": [True, False, None],
    "long": [2**63, 2**70, 2**70 + 1, 1, None],
    "decimals": [Decimal(1), Decimal("2.5"), Decimal("-0"), Decimal("0.1"), None],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_same_as_an_or_of_equals(name: str) -> None:
    rnd = random.Random(name)
    for _ in range(60):
        chosen = rnd.sample(LITERALS, rnd.randint(1, 5))
        known = [literal for literal in chosen if literal != "None"]
        longhand = " or ".join(f"x == {literal}" for literal in known) or "x != x"
        found = where(f"x in ({', '.join(chosen)},)", x=COLUMNS[name])
        assert found == where(longhand, x=COLUMNS[name]), chosen
        none = where(f"x not in ({', '.join(chosen)},)", x=COLUMNS[name])
        assert none == ([] if "None" in chosen else where(f"not ({longhand})", x=COLUMNS[name])), chosen


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x in (1, 'a')", "compares number with text"),
        ("s in ('a', 1)", "compares text with number"),
        ("s in ('a', -'b')", "'-'b'': `in` goes with literals only"),
        ("x in (1, b'a')", "`in` goes with literals only"),
        ("x in (1, (2, 3))", "`in` goes with literals only"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(WindrowError) as raised:
        where(text, x=[1, 2], s=["a", "b"])
    assert why in str(raised.value).replace('"', "'")


def test_a_long_text_is_not_printed_whole() -> None:
    text = f"x in ({'1, ' * MANY} y)"
    for wrong in (text, text.replace("y", "'y'"), f"({text}"):
        with pytest.raises(WindrowError) as raised:
            where(wrong, x=[1, 2])
        assert len(str(raised.value)) < 2000


def test_nothing_is_equal_to_a_list() -> None:
    assert Choices.of(["a"]).holds(np.array(["a", ["a"]], object)).tolist() == [True, False]


def test_choices_travel() -> None:
    predicate = pickle.loads(pickle.dumps(Predicate.parse("x in (1, 3)")))
    assert predicate.mask({"x": read_columns([1, 2, 3])[0]}, 3).tolist() == [True, False, True]


def test_in_a_slide_policy() -> None:
    policy = SlidePolicy("total.n in (1, 3, None)")
    assert [policy(SimpleNamespace(n=n), None) for n in (1, 2, 3, None)] == [True, False, True, False]
    assert not SlidePolicy("not (total.n in (1, None))")(SimpleNamespace(n=2), None)
    assert SlidePolicy("total.n not in (1, 3)")(SimpleNamespace(n=2), None)
