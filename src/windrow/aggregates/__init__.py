"""WHAT is computed over a window: `windrow.agg`. One family a file; `base` says what an aggregate is.

Importing from here shadows the builtins min, max and sum only in this file: use `agg.max`.
"""

from windrow.aggregates.buckets import histogram
from windrow.aggregates.distinct import collect_set, count_distinct, mode
from windrow.aggregates.extremes import max_ as max
from windrow.aggregates.extremes import max_count, min_count, value_range
from windrow.aggregates.extremes import min_ as min
from windrow.aggregates.frequency import bloom, count_min, frequent_items
from windrow.aggregates.joins import join
from windrow.aggregates.lists import collect_list, concat, first_n, last_n, top_k
from windrow.aggregates.logic import bool_and, bool_or
from windrow.aggregates.moments import stddev, stddev_pop, var_pop, variance
from windrow.aggregates.moments import stddev as std
from windrow.aggregates.moments import variance as var
from windrow.aggregates.pairs import corr, covar_samp, regr_slope
from windrow.aggregates.picks import first, last, max_by, min_by
from windrow.aggregates.products import geometric_mean, product
from windrow.aggregates.runs import longest_increasing_run
from windrow.aggregates.shape import kurtosis, skewness
from windrow.aggregates.sketches import approx_count_distinct, approx_percentile
from windrow.aggregates.sums import count, mean, weighted_mean
from windrow.aggregates.sums import mean as avg
from windrow.aggregates.sums import sum_ as sum
from windrow.errors import unknown_name

__all__ = [
    "approx_count_distinct",
    "approx_percentile",
    "avg",
    "bloom",
    "bool_and",
    "bool_or",
    "collect_list",
    "collect_set",
    "concat",
    "corr",
    "count",
    "count_distinct",
    "count_min",
    "covar_samp",
    "first",
    "first_n",
    "frequent_items",
    "geometric_mean",
    "histogram",
    "join",
    "kurtosis",
    "last",
    "last_n",
    "longest_increasing_run",
    "max",
    "max_by",
    "max_count",
    "mean",
    "min",
    "min_by",
    "min_count",
    "mode",
    "product",
    "regr_slope",
    "skewness",
    "std",
    "stddev",
    "stddev_pop",
    "sum",
    "top_k",
    "value_range",
    "var",
    "var_pop",
    "variance",
    "weighted_mean",
]

#: other names of some of them
OTHER_NAMES = {"avg": "mean", "std": "stddev", "var": "variance"}
#: what others call aggregates that are here, or that something here comes near to
_INSTEAD = {
    "average": "agg.mean", "any": "agg.bool_or",
    "all": "agg.bool_and", "nunique": "agg.count_distinct", "n_unique": "agg.count_distinct",
    "median": "agg.approx_percentile(x, q=0.5)", "percentile": "agg.approx_percentile", "range": "agg.value_range",
    "quantile": "agg.approx_percentile", "argmax": "agg.max_by", "argmin": "agg.min_by", "prod": "agg.product",
    "size": "agg.count", "len": "agg.count", "list": "agg.collect_list", "set": "agg.collect_set",
}  # fmt: skip


def __getattr__(name: str) -> object:
    raise unknown_name("agg", name, __all__, _INSTEAD)
