"""windrow: sliding-window aggregation, exact at constant cost a row."""

from windrow import aggregates as agg
from windrow import errors, local, spark, stores, swag
from windrow import windows as win
from windrow.aggregates.base import Aggregate
from windrow.query import Query

__version__ = "0.1.0"
__all__ = ["Aggregate", "Query", "agg", "errors", "local", "spark", "stores", "swag", "win"]
