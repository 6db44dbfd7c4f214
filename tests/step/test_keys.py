"""Keys by number: the same key has the same number, whatever came and went before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.engine.inputs import Column, object_array
from windrow.step import keys as keys_module
from windrow.step.keys import Keys, are_integers

NUMBERS = st.integers(-3, 12) | st.integers(-(2**63), 2**63 - 1)


def integers(values: Any) -> Column:
    array = np.array(values, np.int64)
    return Column(array, None, array.dtype)


def objects(values: list) -> Column:
    return Column(object_array(values), None, np.dtype(object))


def numbered(keys: Keys, columns: list[Column]) -> np.ndarray:
    """As a push does it."""
    return keys.number(columns) if are_integers(columns) else keys.number_objects([c.objects() for c in columns])


class Model:
    """Numbers in use, and the key of each."""

    def __init__(self) -> None:
        self.keys: dict[int, Any] = {}

    def check(self, values: list, numbers: np.ndarray) -> None:
        for value, number in zip(values, numbers.tolist(), strict=True):
            assert self.keys.setdefault(number, value) == value
        assert len(set(self.keys.values())) == len(self.keys)  # no key has two numbers


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 2), st.sampled_from([0, 3, 10**6]))
def test_numbers_stay(data: st.DataObject, width: int, few: int) -> None:
    """Pushes, rollbacks and forgetting in any order, by a dict, by an integer index, and from one to the other."""
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(keys_module, "FEW", few)
        numbers_stay(data, width)


def numbers_stay(data: st.DataObject, width: int) -> None:
    keys, model = Keys(width), Model()
    for _ in range(data.draw(st.integers(1, 12))):
        rows = data.draw(st.lists(st.tuples(*[NUMBERS] * width), min_size=1, max_size=20))
        columns = [integers([row[i] for row in rows]) for i in range(width)]
        if data.draw(st.integers(0, 9)) == 0:  # a key that is no integer: the dict serves from now on
            rows = [("text",) * width]
            columns = [objects(["text"]) for _ in range(width)]
        before, known = keys.all().tolist(), dict(model.keys)
        model.check(rows, numbered(keys, columns))
        if data.draw(st.booleans()):
            keys.rollback()
            model.keys = known
            assert keys.all().tolist() == before
        else:
            assert set(keys.commit().tolist()) == set(model.keys) - set(known)
        assert keys.all().tolist() == sorted(model.keys)
        gone = data.draw(st.lists(st.sampled_from(sorted(model.keys)), unique=True)) if model.keys else []
        keys.forget(np.array(gone, np.int64))
        for number in gone:
            del model.keys[number]
        numbers = keys.all()
        assert numbers.tolist() == sorted(model.keys) and keys.count == len(model.keys)
        for i in range(width):
            assert list(keys.column(numbers, i)) == [model.keys[n][i] for n in numbers.tolist()]


def test_nan_and_null_are_one_key_each() -> None:
    keys = Keys(1)
    floats = Column(np.array([np.nan, 1.0, np.nan]), np.array([True, True, True]), np.dtype(float))
    nulls = Column(np.array([0.0, 1.0, np.nan]), np.array([False, True, True]), np.dtype(float))
    assert numbered(keys, [floats]).tolist() == [0, 1, 0]
    assert numbered(keys, [nulls]).tolist() == [2, 1, 0]


@pytest.mark.parametrize("few", [0, 10**6])
def test_a_key_that_is_there_twice_is_an_error(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "FEW", few)
    keys = Keys(2)
    assert keys.extend([np.array([1, 2]), np.array([5, 5])]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="there twice"):
        keys.extend([np.array([3, 1]), np.array([5, 5])])
    texts = Keys(1)
    texts.extend([["a", "b"]])
    with pytest.raises(ValueError, match="there twice"):
        texts.extend([["c", "a"]])


def test_many_keys_of_one_push_are_told_apart() -> None:
    keys, values = Keys(1), np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 50_000)
    numbers = numbered(keys, [integers(np.concatenate([values, values]))])
    assert np.array_equal(numbers[:50_000], numbers[50_000:]) and len(keys) == len(set(values.tolist()))
    assert np.array_equal(keys.column(numbers[:50_000], 0), values)


def test_keys_that_are_no_integers_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A push costs what it brings: whether all keys held are integers is not asked again and again."""
    monkeypatch.setattr(keys_module, "FEW", 3)
    for first in ([objects(["text"])], [integers(range(10)), objects(["text"])]):
        keys, asked = Keys(1), []
        for column in first:
            numbered(keys, [column])
        monkeypatch.setattr(Keys, "_to_integers", lambda self, go=Keys._to_integers: (asked.append(1), go(self)))
        for begin in range(0, 100, 10):
            numbers = numbered(keys, [integers(range(begin, begin + 10))])
            assert keys.column(numbers, 0) == list(range(begin, begin + 10))
        assert len(asked) <= 1
        monkeypatch.undo()
        monkeypatch.setattr(keys_module, "FEW", 3)
