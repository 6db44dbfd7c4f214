"""windrow: sliding-window aggregation, exact at constant cost a row."""

from windrow import aggregates as agg
from windrow import errors, swag
from windrow.aggregates.base import Aggregate

__version__ = "0.1.0"
__all__ = ["Aggregate", "agg", "errors", "swag"]
