"""A plan: steps over a DataFrame, and what all kinds of plans need."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from windrow.local.intake import named_columns, reads_any_column
from windrow.query import Query
from windrow.spark.explaining import SPARK, explained
from windrow.spark.parts import quoted

#: what a pass over rows gives beside each of them
ANSWERS = "__windrow_answers"


@dataclass
class Plan(ABC):
    """Steps over a DataFrame, the first one first: who or what, and what it does."""

    query: Query
    data: Any
    steps: list[tuple[str, str]] = field(default_factory=list)

    @abstractmethod
    def result(self) -> Any:
        """The DataFrame; `steps` tells afterwards how it comes about."""

    def explain(self) -> str:
        self.result()
        return explained(self.query, self.steps)

    def _read(self) -> Any:
        """The first step: the columns that are needed, which are all where rows come back whole."""
        needed = self._needed()
        self.steps = [(SPARK, f"reads {'all columns' if needed is self.data else ', '.join(needed.columns)}")]
        return needed

    def _needed(self) -> Any:
        if self.query.per_row or reads_any_column(self.query):
            return self.data
        return self.data.select(*[F.col(quoted(name)) for name in named_columns(self.query)])

    def _step(self, who: str, what: str) -> None:
        self.steps.append((who, what))


def arrow_schema(data: Any) -> Any:
    """The columns of a DataFrame as Arrow has them."""
    return to_arrow_schema(data.schema, timezone="UTC")


def mapped(data: Any, work: Any, schema: Any) -> Any:
    """The DataFrame that a pass over each partition gives."""
    with quiet():
        return data.mapInArrow(work, from_arrow_schema(schema))


def beside(data: Any, work: Any, columns: Sequence[str], schema: Any) -> Any:
    """The DataFrame with one column more, `ANSWERS`: structs that a pass over each partition gives, one for each row.

    Only `columns` go to Python and only the answers come back; the rows themselves stay in Spark, whatever they hold.
    """

    def answers(arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
        yield from work(arrays)

    arrow_udf: Any = F.arrow_udf  # its hints know no structs
    with quiet():
        udf = arrow_udf(answers, from_arrow_schema(schema))
    # not deterministic: a row's answer depends on the rows before it, so that no filter may go ahead of it
    return data.withColumn(ANSWERS, udf.asNondeterministic()(*map(quoted, columns)))


@contextmanager
def quiet() -> Iterator[None]:
    """Without Spark's warning of pandas 3, on which nothing here depends."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
