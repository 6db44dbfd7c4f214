"""Functions of the row: what they see, which columns they read, and both forms alike."""

from __future__ import annotations

import numpy as np
import pytest

from tests.windows.test_predicates import TRADES, table, where
from windrow.engine import row_kernels
from windrow.engine.row_functions import holds
from windrow.engine.row_views import read_by, row_class, views
from windrow.errors import WindrowError


def test_functions_of_the_row() -> None:
    assert where(lambda row: row.qty > 2) == [2, 3]
    assert where(lambda row: row["side"] == "buy") == [0, 3]
    assert where(lambda row: None if row.price is None else row.price < 10) == [0]
    assert where(lambda row: row.ok) == [0, 3]


def test_a_function_that_raises_names_the_row() -> None:
    with pytest.raises(TypeError) as raised:
        where(lambda row: row.price < 10)
    assert raised.value.__notes__ == ["in the predicate, at row 1"]
    with pytest.raises(WindrowError, match="reads a column 'prise'"):
        where(lambda row: row.prise < 10)


def test_a_function_compiled_equals_the_function() -> None:
    cases = [
        lambda row: row.price is not None and row.price < 10,
        lambda row: row["qty"] * 2 > row.lot or row.ok is None,
        lambda row: row.qty % 3,
        lambda row: row.qty > 1 if row.ok is None else row.ok,
    ]
    for function in cases:
        names = read_by(function)
        plain, compiled = (holds(function, TRADES, names, 4, form) for form in ("plain", "compiled"))
        assert plain.tolist() == compiled.tolist()


def test_a_function_compiled_raises_as_the_function_does() -> None:
    columns = table(x=np.r_[np.ones(row_kernels.SMALL, int), 0])
    n = row_kernels.SMALL + 1
    function = lambda row: 1 / row.x > 0.4
    with pytest.raises(WindrowError, match="does not compile"):
        holds(lambda row: type(row).__name__ == "Row", columns, ("x",), n, "compiled")
    row_kernels.worth_compiling(function, row_kernels.COMPILE_AFTER)
    with pytest.raises(ZeroDivisionError) as raised:
        holds(function, columns, ("x",), n)
    assert raised.value.__notes__ == [f"in the predicate, at row {row_kernels.SMALL}"]


def test_a_kernel_on_disk_is_not_taken_for_one_with_other_names() -> None:
    columns = table(**{"a b": [1, 2], "c d": [2, 1]})
    function = lambda row: row["a b"] > row["c d"]
    for names in (("a b", "c d"), ("c d", "a b")):
        assert holds(function, columns, names, 2, "compiled").tolist() == [False, True]


LIMIT = 2


def test_a_changed_global_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    function = lambda row: row.qty > LIMIT
    assert holds(function, TRADES, ("qty",), 4, "compiled").tolist() == [False, False, True, True]
    monkeypatch.setitem(globals(), "LIMIT", 3)
    assert holds(function, TRADES, ("qty",), 4, "compiled").tolist() == [False, False, False, True]


def test_which_columns_a_function_reads() -> None:
    assert read_by(lambda row: row.a + row["b c"]) == ("a", "b c")
    assert read_by(lambda row: True) == ()
    assert read_by(lambda row: row.a and [x for x in (1, 2) if x > row.b]) is None  # within another scope
    for hidden in (lambda row: sum(row), lambda row: row[0], lambda row: getattr(row, "a"), lambda row: row._asdict()):  # noqa: B009
        assert read_by(hidden) is None
    assert read_by(print) is None


def test_rows_are_read_by_attribute_and_by_item() -> None:
    row = next(views(TRADES, tuple(TRADES), 1, 2))
    assert (row.qty, row["qty"], row.price, row["side"], row[1]) == (2, 2, None, None, 2)
    assert type(row.qty) is int
    with pytest.raises(KeyError, match="no column 'x'"):
        row["x"]
    with pytest.raises(AttributeError, match="no column 'x'"):
        row.x  # noqa: B018
    odd = row_class(("_x", "a b", "class", "count", "index"))(1, 2, 3, 4, 5)
    assert (odd._x, odd["a b"], odd["class"], odd.count, odd.index) == (1, 2, 3, 4, 5)
